import { asJson, deepCopy, deepEqual, type JsonObject } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from './plugin.ts';
import type { ReinvocationContext } from './reinvocation-context.ts';

/**
 * Which webhooks or policies of one plugin are reinvoked: those that request it and ran before a change of the object
 * by another one or another plugin.
 */
export class PluginReinvocations {
  /** Invoked, without a change of the object since. */
  readonly #invoked = new Set<string>();
  readonly #due = new Set<string>();
  #last: JsonObject | undefined;

  /** Call it at the start of a round. */
  async startRound({ object, work }: AdmissionAttributes, round: ReinvocationContext): Promise<void> {
    if (round.round === 0 || this.#last === undefined || object === undefined) return;
    await work?.pause();
    if (!deepEqual(this.#last, asJson(object))) this.#markAllDue();
  }

  /** Whether to invoke it in this round. */
  shouldInvoke(round: ReinvocationContext, key: string): boolean {
    return round.round === 0 || this.#due.has(key);
  }

  /** It was invoked and has the reinvocation policy IfNeeded. */
  allowReinvocation(key: string): void {
    this.#invoked.add(key);
  }

  /** The object was changed: all earlier ones are due, and all plugins are reinvoked. */
  onObjectChanged(round: ReinvocationContext): void {
    this.#markAllDue();
    round.requestReinvocation();
  }

  /** Call it at the end of a round. Copies only in the first round: there is no third. */
  async endRound({ object, work }: AdmissionAttributes, round: ReinvocationContext): Promise<void> {
    this.#last = undefined;
    if (object === undefined || round.round > 0) return;
    await work?.pause();
    this.#last = deepCopy<JsonObject>(asJson(object));
  }

  #markAllDue(): void {
    for (const key of this.#invoked) this.#due.add(key);
    this.#invoked.clear();
  }
}
