import type { Clock } from '@multiplane/component-base';
import { CompactedError } from '../errors.ts';
import type { WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { CompactionWatermark } from './compaction-watermark.ts';
import type { RelistRequests } from './relist-requests.ts';
import type { StreamClient } from './stream-client.ts';
import type { StreamAudit } from './stream-follower.ts';
import type { UnheldMessages } from './unheld-messages.ts';

/** Missing messages, and monotonic times. */
interface Loss {
  /** The least number of missing messages so far. */
  least: number;
  readonly since: number;
  /** The last time that {@link least} decreased. */
  restoredAt: number;
  requestedAt: number;
}

export interface LostMessageDetectorOptions {
  /** The last sequence of the list that the reader continues. */
  readonly after: number;
  /** A relist request was published after that list. */
  readonly hasRequested: boolean;
}

export interface LostMessageDetectorModules {
  readonly client: StreamClient;
  readonly relistRequests: RelistRequests;
  readonly watermark: CompactionWatermark;
  readonly watchFailures: WatchFailureReporter;
  readonly clock: Clock;
  /** Number of keys that the reader has. */
  readonly heldKeys: () => number;
  readonly unheld: UnheldMessages;
}

/** Between two counts of the messages. */
const intervalMs = 5_000;
/** Until the next count after one that newer messages made inconclusive. */
const inconclusiveMs = 1_000;
/** The reader lists again when the writers have not restored a message for so long, which includes a second request. */
const patienceMs = 45_000;
/** The reader lists again when messages are missing for so long. */
const longestPatienceMs = 300_000;
/** Until the next request: the writers may have listed again before the loss, or failed to. */
const repeatMs = 20_000;

/**
 * Detects that messages were removed from the stream while its watermark survived: by a purge of some subjects, by a server
 * that lost writes and has grown since. A reader of the whole stream knows how many messages it must have at least: its keys,
 * the tombstones above the watermark, the internal messages. Only a sweep reduces this number, and it raises the watermark
 * first, which is read after the count. So fewer messages are always a loss, and the count costs the same for any size of
 * the stream. Newer messages, which the reader does not have yet, may hide a loss; then the count is repeated.
 *
 *   request   the reader publishes a relist request ({@link RelistOnRequest}); the writers list their keys and write the
 *             missing ones again. Watchers of the reader keep their state meanwhile.
 *   restored  the reader lists again: a purge of some subjects makes the consumers of NATS 2.9 skip messages that they have
 *             not delivered yet
 *   start     a reader that has just listed cannot know what was lost before: its list ends with a request to the writers
 *             whose keys differ from it
 *   give up   what stays missing has no writer that is up, or belongs to a key that the reader still has and that was deleted:
 *             CompactedError, so that all readers have the state of the stream
 */
export class LostMessageDetector implements StreamAudit {
  readonly #modules: LostMessageDetectorModules;
  #nextCount = 0;
  /** The reader had everything that the stream had at this sequence. */
  #complete: number;
  /** Writers that listed before this sequence must list again. */
  #requested: number | undefined;
  #loss: Loss | undefined;

  constructor({ after, hasRequested }: LostMessageDetectorOptions, modules: LostMessageDetectorModules) {
    this.#modules = modules;
    this.#complete = after;
    this.#requested = hasRequested ? undefined : after;
  }

  async check(received: number): Promise<void> {
    const { client, watermark, clock, heldKeys, unheld } = this.#modules;
    const now = clock.monotonic();
    if (now < this.#nextCount) return;
    this.#nextCount = now + intervalMs;
    const { state } = await client.info();
    const { compacted } = await watermark.read();
    if (compacted > received) throw new CompactedError(received, compacted);
    unheld.forget(compacted);
    const missing = heldKeys() + unheld.size - state.messages;
    if (missing > 0) this.#reportMissing(missing, received);
    else if (state.last_seq > received) this.#nextCount = now + inconclusiveMs;
    else this.#reportComplete(received);
    await this.#request();
  }

  close(): void {
    this.#modules.watchFailures.recovered(this);
  }

  #reportMissing(missing: number, received: number): void {
    const { clock, watchFailures, client } = this.#modules;
    const now = clock.monotonic();
    const isNew = this.#loss === undefined;
    const loss = (this.#loss ??= { least: missing, since: now, restoredAt: now, requestedAt: -Infinity });
    if (missing < loss.least) {
      loss.least = missing;
      loss.restoredAt = now;
    }
    if (now - loss.restoredAt >= patienceMs || now - loss.since >= longestPatienceMs)
      throw new CompactedError(received, received + 1);
    watchFailures.failed(this, new Error(`the stream ${client.stream} lost at least ${missing} messages`));
    if (now - loss.requestedAt < repeatMs) return;
    loss.requestedAt = now;
    this.#requested ??= isNew ? this.#complete : received;
  }

  #reportComplete(received: number): void {
    this.#complete = received;
    if (this.#loss !== undefined) throw new CompactedError(received, received + 1);
    this.#modules.watchFailures.recovered(this);
  }

  /** A failed one is repeated after the next count, and does not end the watch. */
  async #request(): Promise<void> {
    const after = this.#requested;
    if (after === undefined) return;
    const { relistRequests, watchFailures } = this.#modules;
    try {
      await relistRequests.ensureAfter(after);
      this.#requested = undefined;
    } catch (error) {
      watchFailures.failed(this, error);
    }
  }
}
