import { CelError, checkTextLength } from './cel-error.ts';

export type FormatVerb = 's' | 'd' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X';

const hex = 'only integers, byte buffers, and strings can be formatted as hex';
/** Which types a clause prints, as cel-go says it. */
const printable: Readonly<Record<FormatVerb, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  o: 'octal clause can only be used on integers',
  x: hex,
  X: hex,
};
const isVerb = (char: string): char is FormatVerb => Object.hasOwn(printable, char);

export const formatTypeError = (verb: FormatVerb, typeName: string): CelError =>
  new CelError(`error during formatting: ${printable[verb]}, was given ${typeName}`);

export interface FormatArguments {
  /** Called at each clause, before it is read. May throw CelError. */
  readonly take: (index: number) => void;
  readonly size: number;
  /** The text of an argument; `precision` is undefined if the clause has none. May throw CelError. */
  readonly print: (verb: FormatVerb, index: number, precision: number | undefined) => string;
}

/**
 * Replaces the clauses of a format string by their arguments (cel-go `ext/formatting.go`, the form before version 4 of
 * its strings library). Throws CelError.
 */
export function interpolateFormat(format: string, args: FormatArguments): string {
  let used = 0;
  let result = '';
  let at = 0;
  while (at < format.length) {
    const next = format.indexOf('%', at);
    if (next < 0) return result + format.slice(at);
    result += format.slice(at, next);
    if (format.charAt(next + 1) === '%') {
      result += '%';
      at = next + 2;
      continue;
    }
    args.take(used);
    if (next + 1 >= format.length) throw new CelError('unexpected end of string');
    if (used >= args.size) throw new CelError(`index ${used} out of range`);
    const { verb, precision, end } = readClause(format, next + 1);
    result += args.print(verb, used++, precision);
    checkTextLength(result.length);
    at = end;
  }
  return result;
}

interface Clause {
  readonly verb: FormatVerb;
  readonly precision: number | undefined;
  /** Offset of what follows. */
  readonly end: number;
}
const digits = /\d*/y;

function readClause(format: string, start: number): Clause {
  let at = start;
  let precision: number | undefined;
  if (format.charAt(at) === '.') {
    digits.lastIndex = at + 1;
    const text = (digits.exec(format) as RegExpExecArray)[0];
    at += 1 + text.length;
    if (at >= format.length) throw precisionError('could not find end of precision specifier');
    precision = readPrecision(text);
  }
  const char = format.charAt(at);
  if (!isVerb(char)) {
    // Upstream reads one byte of the UTF-8 form and prints it as a character.
    const byte = Buffer.from(String.fromCodePoint(format.codePointAt(at) as number), 'utf8')[0] as number;
    throw clauseError(`unrecognized formatting clause "${String.fromCharCode(byte)}"`);
  }
  return { verb: char, precision, end: at + 1 };
}

function readPrecision(text: string): number {
  if (text === '') throw atoiError(text, 'invalid syntax');
  const significant = text.replace(/^0+/, '');
  if (significant.length > 19 || BigInt(significant) >= 2n ** 63n) throw atoiError(text, 'value out of range');
  return Number(significant);
}

const atoiError = (text: string, problem: string): CelError =>
  precisionError(`error while converting precision to integer: strconv.Atoi: parsing "${text}": ${problem}`);
const clauseError = (message: string): CelError => new CelError(`could not parse formatting clause: ${message}`);
const precisionError = (message: string): CelError => clauseError(`error while parsing precision: ${message}`);
