import { createHash } from 'node:crypto';
import type { ObjectReference } from '@multiplane/client';
import { Backoff, untilAborted, type Clock } from '@multiplane/component-base';
import { isStorageError, parseCacheKey, type Storage } from '@multiplane/storage';

/** What the mirror keeps of a cached object: about 100 bytes, whatever its size. */
export interface MirroredObject {
  readonly revision: number;
  readonly digest: string;
}

export interface CachedObjectMirrorOptions {
  /** Key prefix of one kind of this shard. */
  readonly prefix: string;
  /** Objects per list page; 0: no limit. */
  readonly pageSize: number;
}

export interface CachedObjectMirrorModules {
  readonly storage: Pick<Storage, 'list' | 'watch'>;
  readonly clock: Clock;
  /** Called for each object of the initial list, and for objects that another process changed or deleted. */
  readonly onChange: (reference: ObjectReference, isInInitialList: boolean) => void;
  readonly onFailure: (error: unknown, failures: number) => void;
  readonly random?: (() => number) | undefined;
}

/** Objects processed before yielding to the event loop. */
const sliceSize = 500;

/** A collision-resistant digest of 22 characters. */
export function digestOf(value: Buffer): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, 22);
}

/**
 * Mirrors revisions and digests of the cached objects of one shard and kind: lists the store in pages, then watches it. After
 * compaction or a storage failure it lists again and reports the differences.
 *
 * Writes of this process are recorded by {@link wrote} when they are acknowledged, so that the next write of the same object
 * does not wait for the watch. Their events are not reported, whether they arrive before or after the acknowledgement. An
 * event with an older revision than the mirrored one is ignored.
 */
export class CachedObjectMirror {
  readonly #options: CachedObjectMirrorOptions;
  readonly #modules: CachedObjectMirrorModules;
  readonly #objects = new Map<string, MirroredObject>();
  readonly #synced = Promise.withResolvers<void>();
  readonly synced: Promise<void> = this.#synced.promise;
  #isInitialList = true;
  /** Keys that this process wrote during the current list, whose result for them may be older. */
  #writtenDuringList: Set<string> | undefined;
  /** Unacknowledged writes of this process: the digest after the write, undefined for a deletion. */
  readonly #inFlight = new Map<string, string | undefined>();

  constructor(options: CachedObjectMirrorOptions, modules: CachedObjectMirrorModules) {
    this.#options = options;
    this.#modules = modules;
  }

  get(key: string): MirroredObject | undefined {
    return this.#objects.get(key);
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  /** Call before a write: its event may arrive before the acknowledgement and must not count as a change by another process. */
  writing(key: string, digest: string | undefined): void {
    this.#inFlight.set(key, digest);
  }

  /** Call after every write, with its revision, or with undefined if it failed. */
  wrote(key: string, revision: number | undefined): void {
    const digest = this.#inFlight.get(key);
    this.#inFlight.delete(key);
    if (revision === undefined) return;
    this.#writtenDuringList?.add(key);
    // The watch has already delivered a later write of another process.
    if ((this.#objects.get(key)?.revision ?? 0) > revision) return;
    if (digest === undefined) this.#objects.delete(key);
    else this.#objects.set(key, { revision, digest });
  }

  /** Lists and watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onFailure, random } = this.#modules;
    const backoff = new Backoff({ initial: 100, max: 10_000 }, { random });
    while (!signal.aborted) {
      try {
        const revision = await this.#load(signal);
        if (this.#isInitialList) {
          this.#isInitialList = false;
          this.#synced.resolve();
        }
        backoff.reset();
        await this.#watch(revision, signal);
      } catch (error) {
        if (signal.aborted) return;
        // Compaction is not a failure: the store is listed again.
        if (!isStorageError(error, 'Compacted')) onFailure(error, backoff.tries + 1);
      }
      try {
        await clock.sleep(backoff.next(), signal);
      } catch {
        return; // Only the signal interrupts the sleep.
      }
    }
  }

  /** Lists the store and reports differences from the mirror; returns the revision to watch from. */
  async #load(signal: AbortSignal): Promise<number> {
    const { storage, clock } = this.#modules;
    const { prefix, pageSize } = this.#options;
    const unseen = new Set(this.#objects.keys());
    const written = new Set<string>();
    this.#writtenDuringList = written;
    let revision: number | undefined;
    let from: string | undefined;
    for (;;) {
      const page = await untilAborted(
        storage.list(prefix, { limit: pageSize, from, skipRemainingCount: true }),
        signal,
      );
      if (page === undefined || signal.aborted) throw new Error('stopped');
      // The watch starts at the revision of the first page, so changes during later pages are seen again.
      revision ??= page.revision;
      for (const [index, item] of page.items.entries()) {
        if (index % sliceSize === sliceSize - 1) await clock.sleep(0, signal);
        unseen.delete(item.key);
        if (written.has(item.key)) continue;
        // The list wins even over newer mirrored revisions: the store may have been recreated.
        const known = this.#objects.get(item.key);
        const digest = digestOf(item.value);
        if (known?.revision !== item.revision || known.digest !== digest)
          this.#changed(item.key, { revision: item.revision, digest });
      }
      const last = page.items.at(-1);
      if (last === undefined || page.remaining === 0) break;
      from = `${last.key}\u0000`;
    }
    this.#writtenDuringList = undefined;
    for (const key of unseen) if (!written.has(key)) this.#removed(key);
    return revision;
  }

  async #watch(after: number, signal: AbortSignal): Promise<void> {
    // A shard is the only writer of its cached objects, so only it can write lost ones again.
    const options = { after, signal, restoresKeys: true, heldKeys: () => this.#objects.size };
    for await (const batch of this.#modules.storage.watch(this.#options.prefix, options)) {
      for (const { type, key, value, revision } of batch.events) {
        const known = this.#objects.get(key);
        if (known !== undefined && known.revision >= revision) continue;
        if (type === 'put') this.#changed(key, { revision, digest: digestOf(value ?? Buffer.alloc(0)) });
        else if (known !== undefined) this.#removed(key);
      }
    }
  }

  #changed(key: string, object: MirroredObject): void {
    this.#objects.set(key, object);
    if (this.#inFlight.get(key) !== object.digest) this.#notify(key);
  }

  #removed(key: string): void {
    this.#objects.delete(key);
    if (!this.#inFlight.has(key) || this.#inFlight.get(key) !== undefined) this.#notify(key);
  }

  #notify(key: string): void {
    const place = parseCacheKey(key);
    if (place === undefined) return;
    const { cluster, namespace, name } = place;
    this.#modules.onChange({ cluster, namespace, name }, this.#isInitialList);
  }
}
