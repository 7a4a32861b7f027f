import { isDyn, listType, mapType, sameType, typeOfType, dynType, type CelType } from './types.ts';

const dynOrError = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'error';

/**
 * What type parameters stand for, found by unification (cel-go `checker/types.go`). A failed attempt leaves no trace:
 * {@link assignable} works on a copy and takes it over only when all fits.
 */
export class TypeSubstitution {
  #bound = new Map<string, CelType>();
  #next = 0;

  fresh(): CelType {
    return { kind: 'param', name: `_var${this.#next++}`, params: [] };
  }

  /** Sets what a parameter stands for. */
  define(param: string, type: CelType): void {
    this.#bound.set(param, type);
  }

  /** Whether values of `from[i]` may go where `to[i]` is wanted. Binds parameters when they may. */
  assignable(to: readonly CelType[], from: readonly CelType[]): boolean {
    if (to.length !== from.length) return false;
    const before = new Map(this.#bound);
    if (to.every((type, index) => this.#assignable(type, from[index] as CelType))) return true;
    this.#bound = before;
    return false;
  }

  /** The type with all bound parameters replaced; unbound ones become dyn if `final`. */
  resolve(type: CelType, final = false): CelType {
    if (type.kind === 'param') {
      const bound = this.#bound.get(type.name);
      if (bound !== undefined) return this.resolve(bound, final);
      return final ? dynType : type;
    }
    if (type.params.length === 0) return type;
    const params = type.params.map((param) => this.resolve(param, final));
    switch (type.kind) {
      case 'list':
        return listType(params[0] as CelType);
      case 'map':
        return mapType(params[0] as CelType, params[1] as CelType);
      case 'type':
        return typeOfType(params[0] as CelType);
      default:
        return { ...type, params };
    }
  }

  #assignable(left: CelType, right: CelType): boolean {
    if (right.kind === 'param') {
      const fit = this.#bind(right, left);
      if (fit !== 'open') return fit === 'yes';
    }
    if (left.kind === 'param') return this.#bind(left, right) === 'yes';
    if (dynOrError(left) || dynOrError(right)) return true;
    if (left.kind === 'null_type') return nullable(right);
    if (right.kind === 'null_type') return nullable(left);
    if (left.kind !== right.kind) return false;
    if (left.kind === 'type') return true;
    if (left.name !== right.name || left.params.length !== right.params.length) return false;
    return left.params.every((param, index) => this.#assignable(param, right.params[index] as CelType));
  }

  /** `open`: the parameter is free, but the type mentions it. */
  #bind(param: CelType, type: CelType): 'yes' | 'no' | 'open' {
    if (sameType(param, type)) return 'yes';
    const bound = this.#bound.get(param.name);
    if (bound !== undefined) {
      if (sameType(type, bound)) return 'yes';
      if (!this.#assignable(type, bound)) return 'no';
      const general = mostGeneral(type, bound);
      if (!this.#mentions(param, general)) this.#bound.set(param.name, general);
      return 'yes';
    }
    if (this.#mentions(param, type)) return 'open';
    this.#bound.set(param.name, type);
    return 'yes';
  }

  #mentions(param: CelType, type: CelType): boolean {
    if (sameType(param, type)) return true;
    if (type.kind === 'param') {
      const bound = this.#bound.get(type.name);
      return bound !== undefined && this.#mentions(param, bound);
    }
    return type.params.some((inner) => this.#mentions(param, inner));
  }
}

function nullable(type: CelType): boolean {
  return ['opaque', 'struct', 'duration', 'timestamp', 'null_type'].includes(type.kind) || type.name === 'wrapper';
}

/** The wider of two types that unify. */
export function mostGeneral(left: CelType, right: CelType): CelType {
  if (right.kind === 'null_type') return left;
  return coversType(left, right) ? left : right;
}

function coversType(left: CelType, right: CelType): boolean {
  if (isDyn(left) || left.kind === 'param') return true;
  if (isDyn(right) || right.kind === 'param') return false;
  if (left.kind !== right.kind) return false;
  if (left.kind === 'type') return true;
  if (left.name !== right.name || left.params.length !== right.params.length) return false;
  return left.params.every((param, index) => coversType(param, right.params[index] as CelType));
}
