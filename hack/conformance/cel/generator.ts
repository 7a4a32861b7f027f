import type { Random } from '../random.ts';
import { elements, handWritten, macros, operands, predicates, speakingTexts, timeZones } from './operands.data.ts';
import { signatures } from './signatures.data.ts';

interface Signature {
  readonly name: string;
  readonly member: boolean;
  readonly args: readonly string[];
  readonly result: string;
}

/** Splits at commas outside of parentheses. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')') depth--;
    if (at === text.length || (text[at] === ',' && depth === 0)) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return parts.filter((part) => part !== '');
}

function signatureOf(text: string): Signature {
  const [call, result] = text.split(' -> ') as [string, string];
  // The list of arguments is the last pair of parentheses; a target may have its own.
  let open = call.length - 1;
  for (let depth = 0; open >= 0; open--) {
    if (call[open] === ')') depth++;
    else if (call[open] === '(' && --depth === 0) break;
  }
  const head = call.slice(0, open);
  const args = split(call.slice(open + 1, -1));
  const dot = /^((?:list|map|optional)\(.*\)|[a-z]+)\.(\w+)$/.exec(head);
  if (dot === null || namespaces.has(dot[1] as string)) return { name: head, member: false, args, result };
  return { name: dot[2] as string, member: true, args: [dot[1] as string, ...args], result };
}
const namespaces = new Set(['lists', 'optional', 'sets', 'strings']);
/** Functions of a name, although their names look like a call on a value of that type. */
const isGlobal = (text: string): boolean =>
  /^(?:format\.[a-z]\w*\((?:string)?\) -> (?:format|optional)|ip\.isCanonical)/.test(text);
const known: readonly Signature[] = signatures.map((text) => {
  if (!isGlobal(text)) return signatureOf(text);
  const open = text.indexOf('(');
  const [call, result] = text.split(' -> ') as [string, string];
  return { name: text.slice(0, open), member: false, args: split(call.slice(open + 1, -1)), result };
});

const scalarTypes = ['int', 'uint', 'double', 'string', 'bytes', 'bool', 'duration', 'timestamp'] as const;
const elementTypes = [
  ...scalarTypes,
  'quantity',
  'list(int)',
  'list(string)',
  'dyn',
  'struct',
  'map(string, int)',
  'null',
  'type',
];
const infix = new Set([
  '@in',
  '_!=_',
  '_%_',
  '_&&_',
  '_*_',
  '_+_',
  '_-_',
  '_/_',
  '_<_',
  '_<=_',
  '_==_',
  '_>_',
  '_>=_',
  '_||_',
]);

/** Makes expressions by the types that functions declare; one in five arguments has another type, or one known only at run time. */
export class ExpressionGenerator {
  readonly #random: Random;
  constructor(random: Random) {
    this.#random = random;
  }

  /** What is written by hand, then `rounds` calls of each overload and of each macro. */
  *expressions(rounds: number): Generator<string> {
    yield* handWritten;
    for (let round = 0; round < rounds; round++) {
      for (const signature of known) yield this.#call(signature, round === 0 ? 0 : 2);
      for (const macro of macros) yield this.#macro(macro);
    }
  }

  #value(type: string, depth: number): string {
    const random = this.#random;
    if (type.length === 1) return this.#value(random.pick(elementTypes), depth);
    const atoms = operands[type];
    if (depth > 0 && (atoms === undefined || random.chance(0.35))) {
      const makers = known.filter(({ result }) => result === type);
      if (makers.length > 0) return `(${this.#call(random.pick(makers), depth - 1)})`;
    }
    if (atoms !== undefined) return random.pick(atoms);
    const inner = /^(list|optional)\((.*)\)$/.exec(type);
    if (inner !== null) {
      const item = inner[2] as string;
      if (inner[1] === 'optional') return `optional.of(${this.#value(item, depth)})`;
      return `[${random.list(3, () => this.#value(item, 0)).join(', ')}]`;
    }
    const map = /^map\((.*)\)$/.exec(type);
    const [key, value] = split(map?.[1] ?? 'string, int') as [string, string];
    return `{${this.#value(key, 0)}: ${this.#value(value, 0)}}`;
  }

  #argument(name: string, index: number, type: string, depth: number): string {
    const random = this.#random;
    const speaking = type === 'string' && /^get[A-Z]/.test(name) ? timeZones : speakingTexts[`${name}/${index}`];
    // A reference may make the whole list before it counts the cost.
    if (speaking !== undefined && (name === 'lists.range' || random.chance(0.75))) return random.pick(speaking);
    const chance = random.fraction();
    if (chance < 0.06) return this.#value(random.pick(elementTypes), depth);
    const value = this.#value(type, depth);
    return chance < 0.16 ? `dyn(${value})` : value;
  }

  #call({ name, member, args, result }: Signature, depth: number): string {
    const random = this.#random;
    // Parameters of one name mean one type within a call.
    const bound = new Map<string, string>();
    const bind = (type: string): string =>
      type.replaceAll(/\b[A-Z]\b/g, (param) => {
        let own = bound.get(param);
        if (own === undefined) bound.set(param, (own = random.pick(elementTypes)));
        return own;
      });
    const values = args.map((type, index) => this.#argument(name, index, bind(type), depth));
    const [first = '', second = '', third = ''] = values;
    if (infix.has(name)) return `${first} ${name === '@in' ? 'in' : name.slice(1, -1)} ${second}`;
    switch (name) {
      case '!_':
        return `!${first}`;
      case '-_':
        return `-${first}`;
      case '_?_:_':
        return `${first} ? ${second} : ${third}`;
      case '_[_]':
        return `${first}[${second}]`;
      case '_[?_]':
        return `${first}[?${second}]`;
      default:
    }
    if (member) return `${first}.${name}(${values.slice(1).join(', ')})`;
    return result === '' ? '' : `${name}(${values.join(', ')})`;
  }

  #macro(template: string): string {
    const random = this.#random;
    const lists = [
      'list(int)',
      'list(string)',
      'list(double)',
      'list(dyn)',
      'list(struct)',
      'list(list(int))',
      'list(bool)',
    ];
    const maps = [
      'map(string, int)',
      'map(string, string)',
      'map(int, string)',
      'map(dyn, dyn)',
      'map(string, list(string))',
    ];
    const optionals = ['optional(int)', 'optional(string)', 'optional(list(int))'];
    const range = template.startsWith('M')
      ? random.pick(maps)
      : random.pick(template.startsWith('O') ? optionals : lists);
    const text = this.#value(range, random.chance(0.2) ? 1 : 0);
    const params = split(/\((.*)\)$/.exec(range)?.[1] ?? '');
    const twoVariables = /\(y, x/.test(template);
    const kind = (params.length === 2 ? (twoVariables ? params[1] : params[0]) : params[0]) as string;
    const of = kind.startsWith('list') ? 'list' : kind;
    const predicate = () => random.pick(predicates[random.chance(0.9) ? of : 'dyn'] ?? ['true']);
    const element = () => random.pick(elements[random.chance(0.9) ? of : 'int'] ?? ['x']);
    return template
      .replaceAll(/\b[RMO]\b/g, () => text)
      .replaceAll(/\bP\b/g, predicate)
      .replaceAll(/\bE2?\b/g, element);
  }
}
