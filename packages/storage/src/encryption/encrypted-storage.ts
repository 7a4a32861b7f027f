import { type BulkRead, type BulkReadStorage, type BulkValue, supportsBulkRead } from '../capabilities/bulk-read.ts';
import { localRevisionOf } from '../capabilities/local-revision.ts';
import type { StaleValueStorage } from '../capabilities/stale-values.ts';
import { CompactedError, UndecryptableError } from '../errors.ts';
import type {
  ListOptions,
  ListResult,
  Storage,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
  WriteOptions,
} from '../interface.ts';
import { registryPrefix } from '../keys.ts';
import { type ResourceTransformers } from './encryption-configuration.ts';
import type { Decrypted, ValueTransformer } from './value-transformer.ts';

export interface EncryptedStorageModules {
  readonly storage: Storage;
  /** The current configuration; it may change at any time. */
  readonly transformers: { readonly current: ResourceTransformers };
  /** Called for each value that cannot be decrypted. */
  readonly onFailure: (key: string, error: unknown) => void;
}

/**
 * Encryption at rest over any store (docs/adr/0103-encryption-at-the-storage-contract.md). Below it values are encrypted,
 * above it, in the watch cache and everything that reads it, they are plain.
 *
 *   which      the resource in the key selects the transformer; the key is the authenticated data
 *   rotation   the configuration is read for every value: a reload takes effect with the next one. All keys read, the first
 *              one writes. {@link isStale} lets a write that changes nothing encrypt a value again.
 *   failures   one value that cannot be decrypted must not stop what has nothing to do with it. {@link get} throws
 *              UndecryptableError. Lists and watches pass the encrypted bytes on, which no reader mistakes for an object:
 *              requests for it, and lists that contain it, fail with an internal error, as in kube-apiserver.
 *   recovery   {@link retryUndecryptable} notices that such values can be decrypted, because their key or the KMS plugin is back,
 *              and ends the watches as compacted, so that the watch cache loads again.
 */
export class EncryptedStorage implements Storage, StaleValueStorage {
  readonly #modules: EncryptedStorageModules;
  readonly #storage: Storage;
  /** Keys of passed on values that could not be decrypted: one for each provider and encryption key. */
  readonly #undecryptable = new Map<string, string>();
  /** The open watches with the signals that end them. */
  readonly #watches = new Map<AbortController, string>();

  constructor(modules: EncryptedStorageModules) {
    this.#modules = modules;
    this.#storage = modules.storage;
  }

  get localRevision(): number | undefined {
    return localRevisionOf(this.#storage);
  }

  /** Present when the store has it; values pass through the transformers batch by batch. */
  get readBulk(): BulkReadStorage['readBulk'] | undefined {
    const storage = this.#storage;
    if (!supportsBulkRead(storage)) return undefined;
    return async (prefix, revision): Promise<BulkRead> => {
      const { keys, wide, batches } = await storage.readBulk(prefix, revision);
      return { keys, wide, batches: this.#decryptBatches(keys, batches) };
    };
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const found = await this.#storage.get(key);
    if (found === undefined) return undefined;
    return { key, value: (await this.#decrypt(key, found.value)).value, revision: found.revision };
  }

  async isStale(key: string): Promise<boolean> {
    const found = await this.#storage.get(key);
    return found !== undefined && (await this.#decrypt(key, found.value)).stale;
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    const { items, revision, remaining } = await this.#storage.list(prefix, options);
    const plain: StoredValue[] = [];
    for (const item of items)
      plain.push({ key: item.key, value: await this.#plain(item.key, item.value), revision: item.revision });
    return { items: plain, revision, remaining };
  }

  async create(key: string, value: Buffer, options?: WriteOptions): Promise<number> {
    return await this.#storage.create(key, await this.#transformer(key).encrypt(value, key), options);
  }

  async update(key: string, value: Buffer, expected: number, options?: WriteOptions): Promise<number> {
    return await this.#storage.update(key, await this.#transformer(key).encrypt(value, key), expected, options);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#storage.delete(key, expected);
  }

  async *watch(prefix: string, options: WatchOptions): AsyncGenerator<WatchBatch, void, undefined> {
    const { after, signal } = options;
    const reload = new AbortController();
    this.#watches.set(reload, prefix);
    let last = after;
    try {
      const either = AbortSignal.any([signal, reload.signal]);
      for await (const { events, revision } of this.#storage.watch(prefix, { ...options, signal: either })) {
        const plain: StorageEvent[] = [];
        for (const event of events)
          plain.push(
            event.value === undefined ? event : { ...event, value: await this.#plain(event.key, event.value) },
          );
        yield { events: plain, revision };
        last = revision;
      }
    } catch (error) {
      if (!reload.signal.aborted) throw error;
    } finally {
      this.#watches.delete(reload);
    }
    if (reload.signal.aborted && !signal.aborted) throw new CompactedError(last, last + 1);
  }

  /**
   * Tries to decrypt values again that lists and watches passed on encrypted. `readable`: at least one can be decrypted now, and
   * the watches have ended; `unreadable`: try again later; undefined: there are none.
   */
  async retryUndecryptable(): Promise<'readable' | 'unreadable' | undefined> {
    for (const key of this.#undecryptable.values()) {
      const watches = [...this.#watches].filter(([, prefix]) => key.startsWith(prefix));
      // Without a watch a load is in progress, which may have read some of the values before.
      if (watches.length === 0 || !(await this.#canDecrypt(key))) continue;
      this.#undecryptable.clear();
      for (const [reload] of watches) reload.abort();
      return 'readable';
    }
    return this.#undecryptable.size > 0 ? 'unreadable' : undefined;
  }

  currentRevision(): Promise<number> {
    return this.#storage.currentRevision();
  }

  compact(revision: number): Promise<void> {
    return this.#storage.compact(revision);
  }

  check(): Promise<void> {
    return this.#storage.check();
  }

  close(): Promise<void> {
    return this.#storage.close();
  }

  async *#decryptBatches(
    keys: readonly string[],
    batches: AsyncIterable<readonly BulkValue[]>,
  ): AsyncGenerator<readonly BulkValue[], void, undefined> {
    for await (const batch of batches) {
      const plain: BulkValue[] = [];
      for (const { index, value, revision } of batch)
        plain.push({ index, value: await this.#plain(keys[index] as string, value), revision });
      yield plain;
    }
  }

  /** The plain value, or the encrypted bytes of a value that cannot be decrypted. */
  #plain(key: string, value: Buffer): Buffer | Promise<Buffer> {
    const failed = (error: unknown): Buffer => {
      this.#undecryptable.set(encryptionKeyOf(value), key);
      this.#modules.onFailure(key, error);
      return value;
    };
    try {
      const decrypted = this.#transformer(key).decrypt(value, key);
      return decrypted instanceof Promise ? decrypted.then((result) => result.value, failed) : decrypted.value;
    } catch (error) {
      return failed(error);
    }
  }

  async #decrypt(key: string, value: Buffer): Promise<Decrypted> {
    try {
      return await this.#transformer(key).decrypt(value, key);
    } catch (error) {
      this.#modules.onFailure(key, error);
      throw new UndecryptableError(key, error);
    }
  }

  /** Whether a value can be decrypted; true for one that no longer exists. */
  async #canDecrypt(key: string): Promise<boolean> {
    const found = await this.#storage.get(key);
    if (found === undefined) return true;
    try {
      await this.#transformer(key).decrypt(found.value, key);
      return true;
    } catch {
      return false;
    }
  }

  #transformer(key: string): ValueTransformer {
    const groupAt = registryPrefix.length;
    const resourceAt = key.indexOf('/', groupAt) + 1;
    const group = key.slice(groupAt, resourceAt - 1);
    const end = key.indexOf('/', resourceAt);
    const resource = key.slice(resourceAt, end < 0 ? undefined : end);
    return this.#modules.transformers.current.of(group === 'core' ? '' : group, resource);
  }
}

/** Provider and key in the prefix of a value, `k8s:enc:<provider>:<version>:<name>:`. */
function encryptionKeyOf(stored: Buffer): string {
  return stored.toString('latin1', 0, 512).split(':', 5).join(':');
}
