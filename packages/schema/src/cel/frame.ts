import { CelCostError, OutOfPatience, type CelError } from './cel-error.ts';
import { maxInlineSteps, WorkBudget, WorkBudgetExceeded } from '../work-budget.ts';
import type { CelValue } from './values.ts';

/** What an evaluation works on: the values of variables, and what it has cost so far. */
export class Frame {
  /** By the slots that the compiler gave out. An accumulator may hold an error. */
  readonly slots: (CelValue | CelError | undefined)[];
  readonly limit: number;
  cost = 0;
  /** Of the cost, what stands for answers that others give: no work is done for it here. */
  answers = 0;
  /** Where the evaluation ends: at the limit, or when the patience for work is over. */
  stop: number;
  readonly #patience: number;
  /** For work that is not in proportion to its cost. */
  readonly budget: WorkBudget;
  constructor(
    slots: (CelValue | CelError | undefined)[],
    limit: number,
    patience = Number.POSITIVE_INFINITY,
    budget = new WorkBudget({ steps: maxInlineSteps }),
  ) {
    this.slots = slots;
    this.budget = budget;
    this.limit = limit;
    this.#patience = patience;
    this.stop = Math.min(limit, patience);
  }

  /** For work that costs nothing or less than it takes: it is limited in steps, see {@link WorkBudget}. */
  spend(steps: number): void {
    try {
      this.budget.charge(steps);
    } catch (error) {
      if (error instanceof WorkBudgetExceeded) throw new CelCostError();
      throw error;
    }
  }

  /** Adds the cost of an answer. */
  chargeAnswer(cost: number): void {
    this.answers += cost;
    this.stop = Math.min(this.limit, this.#patience + this.answers);
    charge(this, cost);
  }
}
export type Step = (frame: Frame) => CelValue;

/** Adds to the cost; ends the evaluation when it is too much. */
export function charge(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.stop) throw frame.cost > frame.limit ? new CelCostError() : new OutOfPatience();
}
