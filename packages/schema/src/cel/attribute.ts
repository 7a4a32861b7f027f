import { CelError, noSuchOverload } from './cel-error.ts';
import { charge, type Frame, type Step } from './frame.ts';
import { indexValue, lookup } from './standard-library.ts';
import { goTypeOf } from './standard-types.ts';
import { CelOptional, CelUint, optionalNone, type CelValue } from './values.ts';

/** One step of an attribute into a value: a field, a key, an index. Costs 1, unless it is asked for what is not there. */
export interface Qualifier {
  /** What it selects is an optional, and so is the attribute. */
  readonly optional: boolean;
  qualify(frame: Frame, operand: CelValue): CelValue;
  /** Undefined: the operand has no such part. */
  find(frame: Frame, operand: CelValue): CelValue | undefined;
}

/**
 * A variable or the result of a call, and what is selected of it (cel-go `interpreter/attributes.go`). As a branch of a
 * conditional and as a key it costs what its parts cost; where it is evaluated itself, `charge` comes on top.
 */
export interface Attribute {
  readonly charge: number;
  readonly resolve: Step;
  with(qualifier: Qualifier): Attribute;
}

export class PathAttribute implements Attribute {
  readonly charge = 1;
  readonly resolve: Step;
  readonly #root: Step;
  readonly #qualifiers: readonly Qualifier[];

  constructor(root: Step, qualifiers: readonly Qualifier[] = []) {
    this.#root = root;
    this.#qualifiers = qualifiers;
    this.resolve = qualifiers.length === 0 ? root : (frame) => this.#resolve(frame);
  }

  with(qualifier: Qualifier): PathAttribute {
    return new PathAttribute(this.#root, [...this.#qualifiers, qualifier]);
  }

  #resolve(frame: Frame): CelValue {
    let value = this.#root(frame);
    let isOptional = false;
    if (value instanceof CelOptional) {
      if (value.value === undefined) return value;
      value = value.value;
      isOptional = true;
    }
    for (const qualifier of this.#qualifiers) {
      isOptional ||= qualifier.optional;
      if (!isOptional) {
        value = qualifier.qualify(frame, value);
        continue;
      }
      const found = qualifier.find(frame, value);
      if (found === undefined) return optionalNone;
      value = found;
    }
    return isOptional ? new CelOptional(value) : value;
  }
}

export class ConditionalAttribute implements Attribute {
  readonly charge = 0;
  readonly resolve: Step;
  readonly #test: Step;
  readonly #yes: Attribute;
  readonly #no: Attribute;

  constructor(test: Step, yes: Attribute, no: Attribute) {
    this.#test = test;
    this.#yes = yes;
    this.#no = no;
    const [whenTrue, whenFalse] = [yes.resolve, no.resolve];
    this.resolve = (frame) => {
      const value = test(frame);
      if (typeof value !== 'boolean') throw noSuchOverload();
      return value ? whenTrue(frame) : whenFalse(frame);
    };
  }

  with(qualifier: Qualifier): ConditionalAttribute {
    return new ConditionalAttribute(this.#test, this.#yes.with(qualifier), this.#no.with(qualifier));
  }
}

/** A presence test costs nothing beside its operand. */
export class PresenceAttribute implements Attribute {
  readonly charge: number;
  readonly resolve: Step;
  readonly #tested: Attribute;

  constructor(operand: Attribute, field: string) {
    this.#tested = operand.with(presence(field));
    this.charge = operand.charge - 1;
    this.resolve = this.#tested.resolve;
  }

  with(qualifier: Qualifier): Attribute {
    return this.#tested.with(qualifier);
  }
}

/** The step that evaluates an attribute. */
export function evaluated(attribute: Attribute): Step {
  const { charge: own, resolve } = attribute;
  if (attribute instanceof PresenceAttribute) {
    return (frame) => {
      const before = frame.cost;
      const value = resolve(frame);
      // Of a conditional cel-go takes off more than it adds. The sum must not fall: it limits the work.
      if (own < 0 && frame.cost > before) charge(frame, own);
      return value instanceof CelOptional ? value.value !== undefined : value;
    };
  }
  if (own === 0) return resolve;
  return (frame) => {
    charge(frame, own);
    return resolve(frame);
  };
}

/** Selects by a constant. */
export const constantQualifier = (key: CelValue, optional: boolean): Qualifier => ({
  optional,
  qualify(frame, operand) {
    charge(frame, 1);
    return indexValue(operand, key);
  },
  find(frame, operand) {
    const found = lookup(operand, key);
    if (found !== undefined) charge(frame, 1);
    return found;
  },
});

const presence = (field: string): Qualifier => ({
  optional: false,
  qualify(frame, operand) {
    charge(frame, 1);
    return lookup(operand, field) !== undefined;
  },
  find(frame, operand) {
    const found = lookup(operand, field);
    if (found !== undefined) charge(frame, 1);
    return found;
  },
});

/** Selects by a value that is computed first. */
export const computedQualifier = (key: Step, optional: boolean): Qualifier => ({
  optional,
  qualify(frame, operand) {
    charge(frame, 1);
    return indexValue(operand, usable(key(frame)));
  },
  find(frame, operand) {
    const found = lookup(operand, usable(key(frame)));
    if (found !== undefined) charge(frame, 1);
    return found;
  },
});

/** Why a value cannot be a key or an index. Undefined: it can. */
export function keyProblem(key: CelValue): string | undefined {
  const isKey = key === null ? false : typeof key !== 'object' || key instanceof CelUint;
  return isKey ? undefined : `invalid qualifier type: ${goTypeOf(key)}`;
}
function usable(key: CelValue): CelValue {
  const problem = keyProblem(key);
  if (problem !== undefined) throw new CelError(problem);
  return key;
}
