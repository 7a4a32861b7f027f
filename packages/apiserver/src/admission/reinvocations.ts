import { asJson, deepCopy, deepEqual, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import type { AdmissionRound } from './admission-round.ts';

/**
 * Who of a plugin's webhooks or policies has a second turn (K6.1): those that ask for one and were followed by a change,
 * be it of another of them or of another plugin.
 */
export class Reinvocations {
  /** Had their turn, and nothing has changed since. */
  readonly #waiting = new Set<string>();
  readonly #due = new Set<string>();
  #last: JsonObject | undefined;

  /** At the beginning of a round. */
  begin(round: AdmissionRound, object: KubeObject | undefined): void {
    if (round.number === 0) return;
    if (this.#last !== undefined && object !== undefined && !deepEqual(this.#last, asJson(object))) this.#allDue();
  }

  /** Whether it is asked in this round. */
  isTurnOf(round: AdmissionRound, key: string): boolean {
    return round.number === 0 || this.#due.has(key);
  }

  /** It had its turn, and wants another if something changes after. */
  add(key: string): void {
    this.#waiting.add(key);
  }

  /** One of them changed the object: everybody before it is due, and all plugins work on it again. */
  changed(round: AdmissionRound): void {
    this.#allDue();
    round.repeat();
  }

  /** At the end of a round. */
  end(object: KubeObject | undefined): void {
    this.#last = object === undefined ? undefined : deepCopy(asJson(object));
  }

  #allDue(): void {
    for (const key of this.#waiting) this.#due.add(key);
    this.#waiting.clear();
  }
}
