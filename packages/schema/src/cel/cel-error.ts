/**
 * An evaluation that came to an error. CEL treats errors as results: `||` and `&&` may absorb one. The messages are
 * those of cel-go, which clients see in the answers of Kubernetes.
 */
export class CelError extends Error {
  override readonly name = 'CelError';
}

/** The budget of an evaluation is used up: nothing absorbs this one. */
export class CelCostError extends Error {
  override readonly name = 'CelCostError';
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Nothing is known of the result: it takes longer than the caller would wait. Not a result either. */
export class OutOfPatience extends Error {
  override readonly name = 'OutOfPatience';
}

/** Texts longer than this cost more than any expression may; they are not even made. */
const maxText = 10_000_000;
export function checkTextLength(length: number): void {
  if (length > maxText) throw new CelCostError();
}

export const noSuchOverload = (): CelError => new CelError('no such overload');
