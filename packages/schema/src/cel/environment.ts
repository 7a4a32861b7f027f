import type { Constant } from './constant.ts';
import type { FunctionTable } from './function-declaration.ts';
import { standardTypes } from './standard-types.ts';
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

export interface EnvironmentOptions {
  readonly functions: FunctionTable;
  /** Types of the variables that an expression may use. */
  readonly variables?: Readonly<Record<string, CelType>>;
  /** Names with a fixed value, in addition to the names of CEL's own types. */
  readonly constants?: ReadonlyMap<string, Constant>;
  /** Types that an expression may make values of, by name: `Name{field: value}`. Default: none. */
  readonly structs?: (name: string) => CelType | undefined;
  /** Where short names are looked up. */
  readonly container?: string;
  /** Elements of a literal list or map must be of one type. Default: yes, as Kubernetes wants it. */
  readonly homogeneousLiterals?: boolean;
}
/** The names an expression may use. Immutable; made once and shared by the expressions compiled in it. */
export class CelEnvironment {
  readonly functions: FunctionTable;
  readonly container: string;
  readonly homogeneousLiterals: boolean;
  readonly #variables: ReadonlyMap<string, CelType>;
  readonly #constants: ReadonlyMap<string, Constant>;
  readonly #structs: (name: string) => CelType | undefined;

  constructor(options: EnvironmentOptions) {
    this.functions = options.functions;
    this.container = options.container ?? '';
    this.homogeneousLiterals = options.homogeneousLiterals ?? true;
    this.#variables = new Map(Object.entries(options.variables ?? {}));
    this.#structs = options.structs ?? (() => undefined);
    this.#constants = new Map([...standardTypes, ...(options.constants ?? [])]);
  }

  /** Names by which a short name may be meant, the innermost container first. */
  candidates(name: string): string[] {
    if (name.startsWith('.')) return [name.slice(1)];
    const names: string[] = [];
    for (let container = this.container; container !== '';) {
      names.push(`${container}.${name}`);
      container = container.slice(0, Math.max(container.lastIndexOf('.'), 0));
    }
    return [...names, name];
  }

  /** The variable or constant that a name means. */
  lookup(name: string): { readonly name: string; readonly type: CelType; readonly value?: CelValue } | undefined {
    for (const candidate of this.candidates(name)) {
      const variable = this.#variables.get(candidate);
      if (variable !== undefined) return { name: candidate, type: variable };
      const constant = this.#constants.get(candidate);
      if (constant !== undefined) return { name: candidate, ...constant };
    }
    return undefined;
  }

  lookupStruct(name: string): CelType | undefined {
    for (const candidate of this.candidates(name)) {
      const type = this.#structs(candidate);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  lookupFunction(name: string): string | undefined {
    return this.candidates(name).find((candidate) => this.functions.has(candidate));
  }
}
