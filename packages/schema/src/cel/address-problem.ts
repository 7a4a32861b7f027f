import { quote } from '@multiplane/apimachinery';

/** Why Go's `netip.ParseAddr` refuses a text that is no IP address. */
export function addressProblem(text: string): string {
  const [reason, rest] = problem(text);
  return `ParseAddr(${quote(text)}): ${reason}${rest === undefined ? '' : ` (at ${quote(rest)})`}`;
}

/** The reason, and the rest of the text where it is found. */
type Problem = readonly [reason: string, rest?: string];

function problem(text: string): Problem {
  switch (/[.:%]/.exec(text)?.[0]) {
    case '.':
      return dottedProblem(text) ?? unknown;
    case ':':
      return groupedProblem(text);
    case '%':
      return ['missing IPv6 address'];
    default:
      return unknown;
  }
}
const unknown: Problem = ['unable to parse IP'];

/** Of `1.2.3.4`, from left to right. Undefined: there is none. */
function dottedProblem(text: string): Problem | undefined {
  let fields = 0;
  let digits = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '.') {
      if (at === 0 || at === text.length - 1 || text[at - 1] === '.')
        return ['IPv4 field must have at least one digit', text.slice(at)];
      if (fields === 3) return ['IPv4 address too long'];
      fields++;
      digits = '';
    } else if (!/\d/.test(char)) return ['unexpected character', text.slice(at)];
    else if (digits === '0') return ['IPv4 field has octet with leading zero'];
    else {
      digits += char;
      if (Number(digits) > 255) return ['IPv4 field has value >255'];
    }
  }
  return fields < 3 ? ['IPv4 address too short'] : undefined;
}

function groupedProblem(text: string): Problem {
  const percent = text.indexOf('%');
  if (percent === text.length - 1) return ['zone must be a non-empty string'];
  let rest = percent < 0 ? text : text.slice(0, percent);
  let hasGap = rest.startsWith('::');
  if (hasGap) rest = rest.slice(2);
  let groups = 0;
  while (groups < 8) {
    const digits = /^[0-9a-fA-F]*/.exec(rest)?.[0] ?? '';
    if (digits.length > 4) return ['each group must have 4 or less digits', rest];
    if (digits === '') return ['each colon-separated field must have at least one digit', rest];
    if (rest[digits.length] === '.') return embeddedProblem(rest, groups, hasGap);
    groups++;
    rest = rest.slice(digits.length);
    if (rest === '') break;
    if (!rest.startsWith(':')) return ['unexpected character, want colon', rest];
    if (rest === ':') return ['colon must be followed by more characters', rest];
    rest = rest.slice(1);
    if (!rest.startsWith(':')) continue;
    if (hasGap) return ['multiple :: in address', rest];
    hasGap = true;
    rest = rest.slice(1);
    if (rest === '') break;
  }
  if (rest !== '') return ['trailing garbage after address', rest];
  if (groups < 8) return ['address string too short'];
  return ['the :: must expand to at least one field of zeros'];
}

/** Of an IPv4 address at the end, after so many groups. */
function embeddedProblem(rest: string, groups: number, hasGap: boolean): Problem {
  if (!hasGap && groups !== 6) return ['embedded IPv4 address must replace the final 2 fields of the address', rest];
  if (groups > 6) return ['too many hex fields to fit an embedded IPv4 at the end of the address', rest];
  return dottedProblem(rest) ?? ['the :: must expand to at least one field of zeros'];
}
