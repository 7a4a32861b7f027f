import { CelCostError, CelError, noSuchOverload } from './cel-error.ts';
import { charge, type Frame, type Step } from './frame.ts';
import type { CelFunction } from './function-declaration.ts';
import type { RegexCall } from './regex-library.ts';
import type { CallCost } from './runtime-cost.ts';
import { isList, type CelValue } from './values.ts';
import { WorkBudgetExceeded } from '../work-budget.ts';

/** Stands for an argument that is an error where a cost is computed: both have no size. */
const failed = null;

/** Charges for a call that an error of its arguments keeps from being made. Returns the error, for the caller to throw. */
function charged(frame: Frame, error: unknown, cost: () => number): unknown {
  if (error instanceof CelError) charge(frame, cost());
  return error;
}

/** Calls a function; work in the square of a list must not be done before it is paid. */
function call(frame: Frame, cost: CallCost, apply: CelFunction, values: readonly CelValue[]): CelValue {
  if (!cost.ofResult) {
    const price = cost(values, failed);
    charge(frame, price);
    const unpaid = stepsOf(values, cost.itemsPerStep) - price;
    if (unpaid > 0) frame.spend(unpaid);
  }
  let result: CelValue;
  try {
    result = apply(...values);
  } catch (error) {
    throw cost.ofResult ? charged(frame, error, () => cost(values, failed)) : error;
  }
  if (cost.ofResult) charge(frame, cost(values, result));
  return result;
}

/** Items or characters that a call may walk over per step. */
const itemsPerStep = 4;
const charactersPerStep = 128;
/** Smaller arguments are not worth counting. */
const smallArguments = 64;
/**
 * Steps of a walk over the arguments. Calls whose overload is not known beforehand cost 1 in cel-go, however much they
 * read, and so does joining lists.
 */
function stepsOf(values: readonly CelValue[], items = itemsPerStep): number {
  let steps = 0;
  for (const value of values) {
    if (typeof value === 'string') steps += value.length / charactersPerStep;
    else if (typeof value === 'object' && value !== null && (isList(value) || value instanceof Uint8Array))
      steps += value.length / (value instanceof Uint8Array ? charactersPerStep : items);
  }
  return steps < smallArguments ? 0 : Math.ceil(steps);
}

export const unary =
  (arg: Step, cost: CallCost, apply: CelFunction): Step =>
  (frame) => {
    let value: CelValue;
    try {
      value = arg(frame);
    } catch (error) {
      throw charged(frame, error, () => cost([failed], failed));
    }
    return call(frame, cost, apply, [value]);
  };

export const binary = (left: Step, right: Step, cost: CallCost, apply: CelFunction, isAnswer = false): Step =>
  evaluateBoth(left, right, cost, (frame, first, second) => {
    if (!isAnswer) return call(frame, cost, apply, [first, second]);
    frame.chargeAnswer(cost([first, second], failed));
    return apply(first, second);
  });

/** Both arguments are evaluated, even if the first one is an error. */
const evaluateBoth =
  (
    left: Step,
    right: Step,
    cost: CallCost,
    apply: (frame: Frame, first: CelValue, second: CelValue) => CelValue,
  ): Step =>
  (frame) => {
    let first: CelValue;
    let second: CelValue;
    try {
      first = left(frame);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      const other = settled(right, frame);
      throw charged(frame, error, () => cost([failed, other], failed));
    }
    try {
      second = right(frame);
    } catch (error) {
      throw charged(frame, error, () => cost([first, failed], failed));
    }
    return apply(frame, first, second);
  };

function settled(step: Step, frame: Frame): CelValue {
  try {
    return step(frame);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return failed;
  }
}

export const variadic = (steps: readonly Step[], cost: CallCost, apply: CelFunction): Step =>
  evaluateAll(steps, cost, (frame, values) => call(frame, cost, apply, values));

/** An error of an argument ends the call, which costs nothing unless that was the last argument. */
const evaluateAll =
  (steps: readonly Step[], cost: CallCost, apply: (frame: Frame, values: readonly CelValue[]) => CelValue): Step =>
  (frame) => {
    const values: CelValue[] = [];
    for (const step of steps) {
      try {
        values.push(step(frame));
      } catch (error) {
        if (values.length < steps.length - 1) throw error;
        throw charged(frame, error, () => cost([...values, failed], failed));
      }
    }
    return apply(frame, values);
  };

/** A call of a function of regular expressions: paid by its cost, and within the budget for work. */
export function searching(search: RegexCall, steps: readonly Step[], cost: CallCost, isConstant: boolean): Step {
  const searchIn = (frame: Frame, values: readonly CelValue[]): CelValue => {
    charge(frame, cost(values, failed));
    const [text, pattern, limit] = values;
    if (typeof text !== 'string' || typeof pattern !== 'string' || !(limit === undefined || typeof limit === 'bigint'))
      throw noSuchOverload();
    try {
      return search(frame.budget, text, pattern, limit);
    } catch (error) {
      if (error instanceof WorkBudgetExceeded) throw new CelCostError();
      throw error;
    }
  };
  const [text, pattern] = steps;
  if (isConstant || steps.length !== 2) return evaluateAll(steps, cost, searchIn);
  return evaluateBoth(text as Step, pattern as Step, cost, (frame, first, second) => searchIn(frame, [first, second]));
}
