import { createHash } from 'node:crypto';
import type { ObjectReference } from '@multiplane/client';
import { Backoff, untilAborted, type Clock } from '@multiplane/component-base';
import { isStorageError, parseCacheKey, type Storage } from '@multiplane/storage';

/** What is remembered of a replica: 100 bytes, whatever its size. */
export interface MirroredReplica {
  readonly revision: number;
  readonly digest: string;
}

export interface ReplicaMirrorOptions {
  /** Below it stand the replicas of one kind of this shard. */
  readonly prefix: string;
  /** Replicas listed at once; 0: all. */
  readonly pageSize: number;
}

export interface ReplicaMirrorModules {
  readonly storage: Pick<Storage, 'list' | 'watch'>;
  readonly clock: Clock;
  /** A replica that was there at the beginning, or that somebody else changed or removed. */
  readonly onChange: (reference: ObjectReference, beginning: boolean) => void;
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly random?: (() => number) | undefined;
}

/** Replicas looked at in one turn of the event loop. */
const sliceSize = 500;

/** Short for a value: two that differ never have the same one. */
export function digestOf(value: Buffer): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, 22);
}

/**
 * Revisions and digests of the replicas that one shard has of one kind, as the store has them: listed in pages, then
 * watched; when history is gone or the store fails, listed and compared again, for ever.
 *
 * Own writes enter when they are acknowledged, by {@link wrote}, so that the next one needs not wait for the watch; their
 * events are not told, whether they come before or after. Everything is ordered by revision: what is older than what is
 * known is ignored.
 */
export class ReplicaMirror {
  readonly #options: ReplicaMirrorOptions;
  readonly #modules: ReplicaMirrorModules;
  readonly #replicas = new Map<string, MirroredReplica>();
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  #beginning = true;
  /** Keys written by this process while the store is being listed: what the list says of them may be older. */
  #writtenMeanwhile: Set<string> | undefined;
  /** Writes of this process that are not acknowledged: the digest they leave, undefined for a removal. */
  readonly #inFlight = new Map<string, string | undefined>();

  constructor(options: ReplicaMirrorOptions, modules: ReplicaMirrorModules) {
    this.#options = options;
    this.#modules = modules;
  }

  get(key: string): MirroredReplica | undefined {
    return this.#replicas.get(key);
  }

  /** Before a write of this process: its event, which may come before its acknowledgement, is nobody else's doing. */
  writing(key: string, digest: string | undefined): void {
    this.#inFlight.set(key, digest);
  }

  /** After it, however it ended: the revision it made; undefined when it failed. */
  wrote(key: string, revision: number | undefined): void {
    const digest = this.#inFlight.get(key);
    this.#inFlight.delete(key);
    if (revision === undefined) return;
    this.#writtenMeanwhile?.add(key);
    // The watch was faster, and somebody else wrote after this.
    if ((this.#replicas.get(key)?.revision ?? 0) > revision) return;
    if (digest === undefined) this.#replicas.delete(key);
    else this.#replicas.set(key, { revision, digest });
  }

  /** Follows the store until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onFailure, random } = this.#modules;
    const backoff = new Backoff({ initial: 100, max: 10_000 }, { random });
    while (!signal.aborted) {
      try {
        const revision = await this.#load(signal);
        if (this.#beginning) {
          this.#beginning = false;
          this.#synced.resolve();
        }
        backoff.reset();
        await this.#watch(revision, signal);
      } catch (error) {
        if (signal.aborted) return;
        // History that is gone is no failure: it is read again, at once the first time.
        if (!isStorageError(error, 'Compacted')) onFailure(error, backoff.tries + 1);
      }
      try {
        await clock.sleep(backoff.next(), signal);
      } catch {
        return; // A sleep fails by the signal only.
      }
    }
  }

  /** Compares the store with what is known; returns the revision from which to watch. */
  async #load(signal: AbortSignal): Promise<number> {
    const { storage, clock } = this.#modules;
    const { prefix, pageSize } = this.#options;
    const unseen = new Set(this.#replicas.keys());
    const written = new Set<string>();
    this.#writtenMeanwhile = written;
    let revision: number | undefined;
    let from: string | undefined;
    for (;;) {
      const page = await untilAborted(storage.list(prefix, { limit: pageSize, from, uncounted: true }), signal);
      if (page === undefined || signal.aborted) throw new Error('stopped');
      // The first page is the oldest: what changes after it is seen again by the watch.
      revision ??= page.revision;
      for (const [index, item] of page.items.entries()) {
        if (index % sliceSize === sliceSize - 1) await clock.sleep(0, signal);
        unseen.delete(item.key);
        if (written.has(item.key)) continue;
        // A list is the present, even where revisions went back: the store was made anew.
        const known = this.#replicas.get(item.key);
        const digest = digestOf(item.value);
        if (known?.revision !== item.revision || known.digest !== digest)
          this.#changed(item.key, { revision: item.revision, digest });
      }
      const last = page.items.at(-1);
      if (last === undefined || page.remaining === 0) break;
      from = `${last.key}\u0000`;
    }
    this.#writtenMeanwhile = undefined;
    for (const key of unseen) if (!written.has(key)) this.#removed(key);
    return revision;
  }

  async #watch(after: number, signal: AbortSignal): Promise<void> {
    for await (const batch of this.#modules.storage.watch(this.#options.prefix, { after, signal })) {
      for (const { type, key, value, revision } of batch.events) {
        const known = this.#replicas.get(key);
        if (known !== undefined && known.revision >= revision) continue;
        if (type === 'put') this.#changed(key, { revision, digest: digestOf(value ?? Buffer.alloc(0)) });
        else if (known !== undefined) this.#removed(key);
      }
    }
  }

  #changed(key: string, replica: MirroredReplica): void {
    this.#replicas.set(key, replica);
    if (this.#inFlight.get(key) !== replica.digest) this.#tell(key);
  }

  #removed(key: string): void {
    this.#replicas.delete(key);
    if (!this.#inFlight.has(key) || this.#inFlight.get(key) !== undefined) this.#tell(key);
  }

  #tell(key: string): void {
    const place = parseCacheKey(key);
    if (place === undefined) return;
    const { cluster, namespace, name } = place;
    this.#modules.onChange({ cluster, namespace, name }, this.#beginning);
  }
}
