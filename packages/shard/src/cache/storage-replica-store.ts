import { encodeForStorage } from '@multiplane/apiserver';
import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import type { Clock, Logger, Runnable } from '@multiplane/component-base';
import {
  ReplicaConflictError,
  replicatedKinds,
  type KnownReplica,
  type ReplicaStore,
  type ReplicatedKind,
} from '@multiplane/controllers';
import { cacheKey, cacheResourcePrefix, isStorageError, type Storage } from '@multiplane/storage';
import { digestOf, ReplicaMirror, type MirroredReplica } from './replica-mirror.ts';

export interface StorageReplicaStoreModules {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/**
 * The replicas of one shard in a store that the cache server reads: a JetStream stream, or the embedded one of the same
 * process. Every write names the revision it replaces; after one that failed, the mirror tells what became of the replica.
 */
export class StorageReplicaStore implements ReplicaStore, Runnable {
  readonly name = 'replicas';
  readonly synced: Promise<void>;
  readonly ended: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #shardName: string;
  readonly #storage: Storage;
  readonly #mirrors = new Map<string, ReplicaMirror>();
  readonly #abort = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void = () => {};

  constructor(
    options: { readonly shardName: string; readonly kinds?: readonly ReplicatedKind[] | undefined },
    modules: StorageReplicaStoreModules,
  ) {
    const { storage, clock, logger, random } = modules;
    this.#shardName = options.shardName;
    this.#storage = storage;
    this.ended = this.#ended.promise;
    this.ended.catch(() => {});
    for (const kind of options.kinds ?? replicatedKinds) {
      const prefix = cacheResourcePrefix(kind, this.#shardName);
      const mirror = new ReplicaMirror(
        { prefix },
        {
          storage,
          clock,
          random,
          onChange: (reference, beginning) => this.#listener(kind, reference, beginning),
          onFailure: (error, failures) => {
            const level = (failures & (failures - 1)) === 0 ? 'warn' : 'debug';
            logger[level]('reading the replicas of this shard failed', { prefix, failures, error });
          },
        },
      );
      this.#mirrors.set(prefix, mirror);
    }
    this.synced = Promise.all([...this.#mirrors.values()].map(({ synced }) => synced)).then(() => {});
  }

  async start(): Promise<void> {
    this.#running = Promise.all([...this.#mirrors.values()].map((mirror) => mirror.run(this.#abort.signal))).then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#running;
  }

  follow(listener: (kind: ReplicatedKind, reference: ObjectReference, beginning: boolean) => void): void {
    this.#listener = listener;
  }

  known(kind: ReplicatedKind, reference: ObjectReference): MirroredReplica | undefined {
    return this.#mirrorOf(kind).get(this.#keyOf(kind, reference));
  }

  equals(known: KnownReplica, object: DeepReadonly<KubeObject>): boolean {
    return (known as MirroredReplica).digest === digestOf(encode(object));
  }

  async put(
    kind: ReplicatedKind,
    reference: ObjectReference,
    object: DeepReadonly<KubeObject>,
    known: KnownReplica | undefined,
  ): Promise<void> {
    const value = encode(object);
    await this.#write(kind, reference, digestOf(value), (key) =>
      known === undefined ? this.#storage.create(key, value) : this.#storage.update(key, value, known.revision),
    );
  }

  async delete(kind: ReplicatedKind, reference: ObjectReference, known: KnownReplica): Promise<void> {
    await this.#write(kind, reference, undefined, (key) => this.#storage.delete(key, known.revision));
  }

  async #write(
    kind: ReplicatedKind,
    reference: ObjectReference,
    digest: string | undefined,
    write: (key: string) => Promise<number>,
  ): Promise<void> {
    const mirror = this.#mirrorOf(kind);
    const key = this.#keyOf(kind, reference);
    mirror.writing(key, digest);
    let revision: number | undefined;
    try {
      revision = await write(key);
    } catch (cause) {
      if (!isStorageError(cause, 'KeyExists') && !isStorageError(cause, 'RevisionConflict')) throw cause;
      throw new ReplicaConflictError(`the replica ${key} is not what it was`, { cause });
    } finally {
      mirror.wrote(key, revision);
    }
  }

  #keyOf(kind: ReplicatedKind, reference: ObjectReference): string {
    return cacheKey(kind, { ...reference, shard: this.#shardName });
  }

  #mirrorOf(kind: ReplicatedKind): ReplicaMirror {
    const mirror = this.#mirrors.get(cacheResourcePrefix(kind, this.#shardName));
    if (mirror === undefined) throw new TypeError(`${kind.resource}.${kind.group} is not replicated`);
    return mirror;
  }
}

function encode(object: DeepReadonly<KubeObject>): Buffer {
  return encodeForStorage(object as KubeObject);
}
