import { OutOfPatience } from './cel/cel-error.ts';

/**
 * Steps that the validation of one object may take in total: one per place of the schema that a value is compared with,
 * and for a regular expression the length of the text times the size of the program, which is what a linear-time engine
 * needs at most. A step takes 10 to 150 ns, so the worst accepted object takes some seconds of a worker thread.
 */
export const maxSteps = 40_000_000;

/** Steps of one indivisible operation on the event loop, some ten milliseconds; a larger one belongs in a worker thread. */
export const maxInlineSteps = 100_000;

/**
 * Steps that a validation may always take in a time slice of its own turn, at most three milliseconds. What needs no more is
 * never repeated in a worker thread: to start one takes longer, and its queue is short.
 */
export const minInlineSteps = 20_000;

/** The clock is read once per this many steps. */
const stepsPerClockRead = 2_000;

/** The object needs more work than any object may. The message is for its author. */
export class WorkBudgetExceeded extends Error {
  override readonly name = 'WorkBudgetExceeded';
  constructor() {
    super(
      `validation exceeds the budget of ${maxSteps} steps: use shorter values, smaller patterns or fewer alternatives`,
    );
  }
}

/** Whether a time slice is used up, for a validation that has taken so many steps in it. */
export type IsOverdue = (steps: number) => boolean;

export interface WorkBudgetOptions {
  /** Present on an event loop that serves requests: see {@link IsOverdue}. */
  readonly isOverdue?: IsOverdue | undefined;
  readonly steps?: number | undefined;
}

/**
 * The work that the validation of one object may still take. Every operation is charged before it is done.
 *
 * `isOverdue` marks a validation on the event loop: it says that the time slice is used up. Then, or before an operation
 * that alone is too long for a slice, {@link charge} throws OutOfPatience, and the validation is repeated in a worker
 * thread, which has no `isOverdue`.
 */
export class WorkBudget {
  readonly #isOverdue: IsOverdue | undefined;
  readonly #steps: number;
  #left: number;
  #untilClockRead = stepsPerClockRead;

  constructor({ isOverdue, steps = maxSteps }: WorkBudgetOptions = {}) {
    this.#isOverdue = isOverdue;
    this.#steps = steps;
    this.#left = steps;
  }

  /** Whether the work is done on an event loop that serves requests. */
  get isInline(): boolean {
    return this.#isOverdue !== undefined;
  }

  /** Throws {@link WorkBudgetExceeded} or OutOfPatience instead of permitting an operation of so many steps. */
  charge(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new WorkBudgetExceeded();
    if (this.#isOverdue === undefined) return;
    if (steps > maxInlineSteps) throw new OutOfPatience();
    this.#untilClockRead -= steps;
    if (this.#untilClockRead > 0) return;
    this.#untilClockRead = stepsPerClockRead;
    if (this.#isOverdue(this.#steps - this.#left)) throw new OutOfPatience();
  }
}
