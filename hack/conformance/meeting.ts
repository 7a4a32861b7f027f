import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Attempt } from '../../e2e/conformance/observe-scenario.ts';
import type { Step } from '../../e2e/conformance/scenario.ts';

export type Side = 'reference' | 'subject';

/** The reference did not reach in time what the rest of the scenario needs, or what the other side has reached. */
export class SetUpFailed extends Error {}

interface Round {
  readonly attempts: Map<Side, Attempt>;
  readonly complete: PromiseWithResolvers<boolean>;
}

export interface MeetingOptions {
  /** How long the answers of both sides stay the same before they count as final, in milliseconds. */
  readonly quietMs: number;
  /** The same when neither side shows what the step waits for: a controller may have much to do before. */
  readonly longQuietMs: number;
  readonly pollMs: number;
  /** Limit for a step without one of its own, in seconds. */
  readonly withinSeconds: number;
}

export const defaultMeetingOptions: MeetingOptions = {
  quietMs: 8_000,
  longQuietMs: 12_000,
  pollMs: 100,
  withinSeconds: 200,
};

/**
 * Plays the steps of a scenario on both servers in step, and repeats reads until both have reached a fixed point: controllers
 * of both write at their own pace, so what differs at one moment proves nothing.
 *
 * ```
 *   both sides send → same answer, and what the step waits for holds? ── yes → next step
 *     ↑                 └ no: nothing changed for a while, or the time is over? ── yes → next step, and the answers differ
 *     └───────────────────── no
 * ```
 * Writes are repeated only while what they wait for does not hold (a create that is refused until a permission arrives).
 */
export class Meeting {
  readonly #options: MeetingOptions;
  readonly #differ: (step: number, attempts: ReadonlyMap<Side, Attempt>) => boolean;
  readonly #rounds = new Map<string, Round>();
  readonly #failed = Promise.withResolvers<never>();
  #latest: readonly unknown[] = [];
  #changedAt = 0;
  #startedAt = 0;

  constructor(
    options: MeetingOptions,
    modules: { readonly differ: (step: number, attempts: ReadonlyMap<Side, Attempt>) => boolean },
  ) {
    this.#options = options;
    this.#differ = modules.differ;
    this.#failed.promise.catch(() => {});
  }

  /** One side ended with an error; the other must not wait for it. */
  fail(error: unknown): void {
    this.#failed.reject(error);
  }

  /** The final attempt of one side. */
  async attempt(side: Side, index: number, step: Step, send: () => Promise<Attempt>): Promise<Attempt> {
    for (let round = 0, mine = await send(); ; round++) {
      if (await this.#isFinal(side, `${index}/${round}`, { index, round, step, mine })) return mine;
      await delay(this.#options.pollMs);
      if (isRead(step) || !mine.holds) mine = await send();
    }
  }

  #isFinal(side: Side, key: string, at: Moment): Promise<boolean> {
    let round = this.#rounds.get(key);
    if (round === undefined) {
      round = { attempts: new Map(), complete: Promise.withResolvers<boolean>() };
      this.#rounds.set(key, round);
    }
    round.attempts.set(side, at.mine);
    if (round.attempts.size === 2) {
      this.#rounds.delete(key);
      try {
        round.complete.resolve(this.#decide(at, round.attempts));
      } catch (error) {
        round.complete.reject(error);
      }
    }
    return Promise.race([round.complete.promise, this.#failed.promise]);
  }

  #decide({ index, round, step }: Moment, attempts: ReadonlyMap<Side, Attempt>): boolean {
    const now = Date.now();
    if (round === 0) this.#startedAt = this.#changedAt = now;
    const answers = [attempts.get('reference')?.seen, attempts.get('subject')?.seen];
    if (!isDeepStrictEqual(answers, this.#latest)) this.#changedAt = now;
    this.#latest = answers;
    const holding = [...attempts.values()].filter(({ holds }) => holds).length;
    if (holding === 2 && !(isRead(step) && this.#differ(index, attempts))) return true;
    const limit = (step.until?.within ?? this.#options.withinSeconds) * 1000;
    if (now - this.#startedAt > limit) {
      const [isLate, isInTime] = answers.map((answer) => passing.test(JSON.stringify(answer)));
      const isSetUp = step.capture !== undefined && attempts.get('reference')?.holds === false;
      if (isSetUp || (isRead(step) && isLate === true && isInTime === false))
        throw new SetUpFailed(`the reference takes longer than ${limit / 1000} s for ${step.path}`);
      return true;
    }
    const quiet = now - this.#changedAt;
    if (holding === 1) return false;
    // The reference says itself that it has not come to an end.
    if (passing.test(JSON.stringify(answers[0]))) return false;
    return quiet > (holding === 2 ? this.#options.quietMs : this.#options.longQuietMs);
  }
}

interface Moment {
  readonly index: number;
  readonly round: number;
  readonly step: Step;
  readonly mine: Attempt;
}

const passing =
  /WaitingForEstablished|InitializerExists|"(Scheduling|Initializing|Deleting|Binding)"|deletionTimestamp/;

const isRead = ({ method = 'GET' }: Step): boolean => method === 'GET';
