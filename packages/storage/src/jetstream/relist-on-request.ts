import type { Clock } from '@multiplane/component-base';
import { CompactedError } from '../errors.ts';
import type { RelistRequest, RelistRequests } from './relist-requests.ts';
import type { StreamClient } from './stream-client.ts';
import type { StreamAudit } from './stream-follower.ts';
import type { StreamSubjects } from './stream-subjects.ts';

export interface RelistOnRequestOptions {
  /** The last sequence of the writer's list. */
  readonly after: number;
  /** Filter of the writer's keys. */
  readonly filter: string;
}

export interface RelistOnRequestModules {
  readonly client: StreamClient;
  readonly subjects: StreamSubjects;
  readonly relistRequests: RelistRequests;
  readonly clock: Clock;
  readonly random: () => number;
  /** Number of keys that the writer has; absent: unknown. */
  readonly heldKeys?: (() => number) | undefined;
}

/** The lists of all writers begin within this time; requests during it are one. */
const spreadMs = 10_000;

/**
 * Ends the watch of a writer with CompactedError when a reader requested so after the writer's list: the stream may have lost
 * messages ({@link LostMessageDetector}), and only the writer knows which keys it should have. A reader that has just listed
 * says how many keys it found. A writer with as many keys, none of which changed since, has nothing to write.
 */
export class RelistOnRequest implements StreamAudit {
  readonly #options: RelistOnRequestOptions;
  readonly #modules: RelistOnRequestModules;
  /** Sequence of the last request that is handled. */
  #handled: number;
  #due: { readonly request: number; readonly time: number } | undefined;

  constructor(options: RelistOnRequestOptions, modules: RelistOnRequestModules) {
    this.#options = options;
    this.#modules = modules;
    this.#handled = options.after;
  }

  async check(received: number): Promise<void> {
    const { relistRequests, clock, random } = this.#modules;
    if (this.#due === undefined) {
      const request = await relistRequests.last();
      if (request === undefined || request.sequence <= this.#handled) return;
      const result = await this.#compare(request, received);
      if (result === 'behind') return;
      this.#handled = request.sequence;
      if (result === 'equal') return;
      this.#due = { request: request.sequence, time: clock.monotonic() + random() * spreadMs };
    }
    if (clock.monotonic() >= this.#due.time) throw new CompactedError(received, this.#due.request);
  }

  close(): void {}

  /**
   * `equal`: the writer has as many keys as the reader found, and none changed since the reader's list began. `behind`: the
   * writer has not received everything up to that list yet.
   */
  async #compare({ keys }: RelistRequest, received: number): Promise<'equal' | 'different' | 'behind'> {
    const { client, subjects, heldKeys } = this.#modules;
    const { filter } = this.#options;
    if (keys === undefined || heldKeys === undefined) return 'different';
    const last = (await client.lastMessage(filter))?.sequence ?? 0;
    if (last > keys.through) return 'different';
    if (last > received) return 'behind';
    return heldKeys() === (keys.counts.get(subjects.resourceOf(filter)) ?? 0) ? 'equal' : 'different';
  }
}
