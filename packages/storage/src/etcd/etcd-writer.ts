import {
  KeyExistsError,
  OutcomeUnknownError,
  RevisionConflictError,
  type StorageError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../errors.ts';
import type { WriteOptions } from '../interface.ts';
import type { EtcdClient, EtcdOperation } from './etcd-client.ts';
import { classify } from './etcd-errors.ts';
import type { EtcdKeys } from './etcd-keys.ts';
import type { LeasePool } from './lease-pool.ts';
import type { KeyValue, PutRequest, TxnRequest, TxnResponse } from './transport/etcd-messages.ts';

/** A write as a transaction on the expected mod revision; 0: the key must not exist. */
interface Write {
  readonly key: string;
  readonly expected: number;
  /** Undefined deletes the key. */
  readonly value: Buffer | undefined;
  readonly ttlSeconds: number | undefined;
}

export interface EtcdWriterModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly leases: LeasePool;
}

/** Maximum number of attempts of a write that provably was not carried out. */
const attempts = 3;

/**
 * Compare-and-set on etcd. A transaction is sent once, and again only after a response or failure which proves that the
 * first one was not and will not be carried out. When the response is lost, the key is read: its state may prove the
 * outcome; otherwise the caller gets OutcomeUnknownError.
 */
export class EtcdWriter {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #leases: LeasePool;
  readonly #maxRequestBytes: number;

  constructor(maxRequestBytes: number, { client, keys, leases }: EtcdWriterModules) {
    this.#client = client;
    this.#keys = keys;
    this.#leases = leases;
    this.#maxRequestBytes = maxRequestBytes;
  }

  async create(key: string, value: Buffer, { ttlSeconds }: WriteOptions = {}): Promise<number> {
    const response = await this.#send({ key, expected: 0, value, ttlSeconds });
    if (typeof response === 'number') return response;
    throw new KeyExistsError(key);
  }

  async update(key: string, value: Buffer, expected: number, { ttlSeconds }: WriteOptions = {}): Promise<number> {
    return this.#revisionOr(key, expected, await this.#send({ key, expected, value, ttlSeconds }));
  }

  async delete(key: string, expected: number): Promise<number> {
    return this.#revisionOr(
      key,
      expected,
      await this.#send({ key, expected, value: undefined, ttlSeconds: undefined }),
    );
  }

  #revisionOr(key: string, expected: number, response: number | Refusal): number {
    if (typeof response === 'number') return response;
    throw new RevisionConflictError(key, expected, response.current);
  }

  async #send(write: Write): Promise<number | Refusal> {
    const { key, value } = write;
    // etcd closes the connection, with all its other requests, when a request is far over its limit.
    if (value !== undefined && value.length > this.#maxRequestBytes) throw new ValueTooLargeError(key);
    for (let attempt = 1; ; attempt++) {
      this.#client.assertOpen();
      const request = this.#request(write, await this.#leaseOf(write));
      try {
        return outcome(await this.#client.transaction(request, operationOf(write)));
      } catch (error) {
        const failure = classify(error, key);
        if (failure.kind === 'refused') throw failure.error;
        if (failure.kind === 'full') return await this.#resolve(write, error, failure.error);
        if (failure.kind === 'unknown') return await this.#resolve(write, error);
        if (failure.kind === 'lease-expired' && write.ttlSeconds !== undefined) this.#leases.drop(write.ttlSeconds);
        if (attempt === attempts) throw new StorageUnavailableError('etcd cannot be reached', error);
        // Waits until etcd responds again, or throws.
        await this.#client.range({ ...this.#keys.hidden, count_only: true });
      }
    }
  }

  #request({ key, value, expected }: Write, lease: string | undefined): TxnRequest {
    const encoded = this.#keys.encode(key);
    const put = (bytes: Buffer): PutRequest => ({
      key: encoded,
      value: bytes,
      ...(lease !== undefined ? { lease } : { ignore_lease: expected !== 0 }),
    });
    return {
      compare: { key: encoded, target: 'Mod', mod_revision: expected },
      success: [value === undefined ? { request_delete_range: { key: encoded } } : { request_put: put(value) }],
      failure: [{ request_range: { key: encoded, keys_only: true } }],
    };
  }

  async #leaseOf({ ttlSeconds }: Write): Promise<string | undefined> {
    return ttlSeconds === undefined ? undefined : await this.#leases.lease(ttlSeconds);
  }

  /**
   * Determines the outcome of a write whose response was lost. etcd counts the writes of a key (`version`), so the first
   * write after the expected state is identifiable: when its bytes are ours, our write succeeded; otherwise another write
   * was first, and ours fails whenever it arrives. Two writers with the same bytes and the same expected revision cannot
   * be distinguished; objects contain a uid and their last change, so equal bytes are the same write.
   *
   * `refusal`: etcd responded with it, so the write was carried out or never will be, and an unchanged key proves the
   * latter: throws the refusal then.
   */
  async #resolve(write: Write, cause: unknown, refusal?: StorageError): Promise<number | Refusal> {
    const { key, value, expected } = write;
    let now: KeyValue | undefined;
    let versionBefore = 0;
    try {
      now = (await this.#client.range({ key: this.#keys.encode(key) })).kvs[0];
      if (now !== undefined && expected !== 0) {
        const before = await this.#client.range({ key: this.#keys.encode(key), revision: expected, keys_only: true });
        versionBefore = before.kvs[0]?.version ?? Number.NaN;
      }
    } catch {
      throw new OutcomeUnknownError(key, cause);
    }
    if (refusal !== undefined && (now?.mod_revision ?? 0) === expected) throw refusal;
    if (now !== undefined && now.mod_revision !== expected && now.version === versionBefore + 1) {
      const revision = now.mod_revision;
      const ours = value !== undefined && now.value.equals(value);
      if (ours) return revision;
      // The first version of a created key may not be the first ever: ours may have been created and deleted.
      if (expected !== 0) return { current: revision };
    }
    throw new OutcomeUnknownError(key, cause);
  }
}

function operationOf({ value, expected }: Write): EtcdOperation {
  if (value === undefined) return 'delete';
  return expected === 0 ? 'create' : 'update';
}

/** The comparison failed; `current` is the revision of the key. */
interface Refusal {
  readonly current: number | undefined;
}

function outcome(response: TxnResponse): number | Refusal {
  if (response.succeeded) return response.header.revision;
  const found = response.responses[0]?.response_range?.kvs[0];
  return { current: found?.mod_revision };
}
