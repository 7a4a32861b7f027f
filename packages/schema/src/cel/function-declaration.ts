import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  opaqueType,
  optionalType,
  paramType,
  stringType,
  timestampType,
  typeOfType,
  uintType,
  type CelType,
} from './types.ts';
import type { CelValue } from './values.ts';

/** What a function does. Arguments have the declared types; a method gets its target first. */
export type CelFunction = (...args: CelValue[]) => CelValue;

/** One way to call a function. */
export interface Overload {
  readonly id: string;
  readonly name: string;
  readonly member: boolean;
  /** Types of the arguments; a method's target comes first. */
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly params: readonly string[];
  readonly apply: CelFunction;
}

/** Functions by name; overloads in the order in which the checker tries them. */
export type FunctionTable = ReadonlyMap<string, readonly Overload[]>;

const named: Readonly<Record<string, CelType>> = {
  bool: boolType,
  bytes: bytesType,
  double: doubleType,
  duration: durationType,
  dyn: dynType,
  int: intType,
  null: nullType,
  string: stringType,
  timestamp: timestampType,
  uint: uintType,
};

/**
 * Declares an overload by its signature: `declare('charAt', 'string_char_at_int', 'string.(int) string', …)`. Capital
 * letters are type parameters; other unknown names are opaque types.
 */
export function declare(name: string, id: string, signature: string, apply: CelFunction): Overload {
  const reader = new SignatureReader(signature);
  const target = signature.startsWith('(') ? undefined : reader.type();
  if (target !== undefined) reader.expect('.');
  const args = reader.list();
  const result = reader.type();
  return {
    id,
    name,
    member: target !== undefined,
    args: target === undefined ? args : [target, ...args],
    result,
    params: [...reader.params],
    apply,
  };
}

class SignatureReader {
  readonly params = new Set<string>();
  readonly #tokens: readonly string[];
  #at = 0;
  constructor(text: string) {
    this.#tokens = text.match(/[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)*|[(),.]/g) ?? [];
  }
  expect(token: string): void {
    if (this.#tokens[this.#at++] !== token) throw new Error(`a signature lacks ${token}: ${this.#tokens.join(' ')}`);
  }
  list(): CelType[] {
    const types: CelType[] = [];
    this.expect('(');
    while (this.#tokens[this.#at] !== ')') {
      types.push(this.type());
      if (this.#tokens[this.#at] === ',') this.#at++;
    }
    this.expect(')');
    return types;
  }
  type(): CelType {
    const name = this.#tokens[this.#at++] as string;
    if (Object.hasOwn(named, name)) return named[name] as CelType;
    if (/^[A-Z]$/.test(name)) {
      this.params.add(name);
      return paramType(name);
    }
    if (this.#tokens[this.#at] !== '(') return opaqueType(name);
    const params = this.list();
    const first = params[0] as CelType;
    if (name === 'list') return listType(first);
    if (name === 'map') return mapType(first, params[1] as CelType);
    if (name === 'optional') return optionalType(first);
    return typeOfType(first);
  }
}

/** Joins libraries to one table. */
export function functionTable(...libraries: readonly (readonly Overload[])[]): FunctionTable {
  const table = new Map<string, Overload[]>();
  for (const overload of libraries.flat()) {
    const known = table.get(overload.name);
    if (known === undefined) table.set(overload.name, [overload]);
    else known.push(overload);
  }
  return table;
}
