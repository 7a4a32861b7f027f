import { encodeJson, parseJson, statusErrors, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { timeSlices } from '@multiplane/component-base';
import { logicalClusterObjectName, logicalClusters, shardAnnotation, workspaces } from '@multiplane/controllers';
import { isStorageError, SnapshotDecoder, type StoredValue, type WatchCache } from '@multiplane/storage';
import { contentPrefixOf } from '../content-prefix.ts';
import { logicalClusterPrefix, workspacePrefix } from './workspace-snapshot.ts';

/** On the Workspace and the LogicalClusters of a restore that is not finished: its ID. */
const restoreAnnotation = 'multiplane.io/restore';
/** Keeps a logical cluster from becoming Ready, so that its users see nothing of it, until the restore is finished. */
const restoreInitializer = 'system:restore';

/** Writes in flight; a backend commits them together. */
const concurrency = 256;
const eventPrefixes = ['/registry/core/events/', '/registry/events.k8s.io/events/'];

export interface RestoredPart {
  created: number;
  /** A controller had made another object of this name meanwhile, or changed it. */
  replaced: number;
  /** An earlier attempt had written it. */
  unchanged: number;
}

type LogicalCluster = KubeObject & { status?: { initializers?: string[] } };

/**
 * Writes the objects of a workspace that is being restored, below the API: uids, times, status and managed fields are those
 * of the snapshot. `multiplane snapshot restore` sends them in this order, each step after the one before is stored:
 *
 *   reserve   the Workspace in its parent, and the LogicalClusters with {@link restoreInitializer}: only created, so that no
 *             existing workspace is changed; an earlier attempt with the same ID may have made them
 *   content   objects in logical clusters that this restore reserved; an existing object (a controller makes some as soon as the
 *             logical cluster exists, an attempt before may have written some) is replaced
 *   finish    the initializer and the annotation are removed: the logical cluster becomes Ready
 *
 * A process that dies in between leaves a workspace that is Initializing: the same command continues, a deletion of the
 * Workspace removes everything.
 */
export class WorkspaceRestore {
  readonly #options: { readonly shard: string; readonly eventTtlSeconds: number };
  readonly #cache: WatchCache;
  readonly #builtIn: ReadonlySet<string>;

  constructor(
    options: { readonly shard: string; readonly eventTtlSeconds: number },
    modules: { readonly cache: WatchCache; readonly builtIn: ReadonlySet<string> },
  ) {
    this.#options = options;
    this.#cache = modules.cache;
    this.#builtIn = modules.builtIn;
  }

  /** Writes the records of a part. Throws 400 for a damaged part, 409 for a name that is taken. */
  async write(id: string, part: Buffer): Promise<RestoredPart> {
    const result: RestoredPart = { created: 0, replaced: 0, unchanged: 0 };
    const reserved = new Map<string, Promise<boolean>>();
    const pending = new Set<Promise<unknown>>();
    let failure: { readonly error: unknown } | undefined;
    const slices = timeSlices();
    for (const record of await recordsOf(part)) {
      const write = this.#writeRecord(id, record, reserved)
        .then((outcome) => void result[outcome]++)
        .catch((error: unknown) => void (failure ??= { error }))
        .finally(() => pending.delete(write));
      pending.add(write);
      if (pending.size >= concurrency) await Promise.race(pending);
      if (failure !== undefined) break;
      if (slices.isExceeded) await slices.yield();
    }
    await Promise.all(pending);
    if (failure !== undefined) throw failure.error;
    return result;
  }

  /** Ends the restore of LogicalClusters and Workspaces; returns how many were not finished before. */
  async finish(id: string, keys: readonly string[]): Promise<number> {
    let finished = 0;
    for (const key of keys) {
      if (!key.startsWith(logicalClusterPrefix) && !key.startsWith(workspacePrefix))
        throw statusErrors.badRequest(`${key} is neither a LogicalCluster nor a Workspace`);
      if (await this.#finish(id, key)) finished++;
    }
    return finished;
  }

  async #finish(id: string, key: string): Promise<boolean> {
    for (;;) {
      const stored = await this.#cache.get(key);
      if (stored === undefined) throw statusErrors.notFound({ group: '', resource: 'objects' }, key);
      const object = objectOf(stored) as LogicalCluster;
      const { [restoreAnnotation]: of, ...annotations } = object.metadata.annotations ?? {};
      if (of !== id) return false;
      object.metadata.annotations = annotations;
      const initializers = object.status?.initializers?.filter((name) => name !== restoreInitializer) ?? [];
      if (object.status?.initializers !== undefined) {
        if (initializers.length > 0) object.status.initializers = initializers;
        else delete object.status.initializers;
      }
      try {
        await this.#cache.update(key, bytesOf(object), stored.revision);
        return true;
      } catch (error) {
        // A controller has written it meanwhile.
        if (!isStorageError(error, 'RevisionConflict')) throw error;
      }
    }
  }

  async #writeRecord(
    id: string,
    { key, value }: StoredValue,
    reserved: Map<string, Promise<boolean>>,
  ): Promise<keyof RestoredPart> {
    const prefix = contentPrefixOf(key, this.#builtIn);
    const [cluster = '', ...rest] = key.slice(prefix.length).split('/');
    if (prefix === '' || cluster === '' || rest.length === 0 || rest.includes(''))
      throw statusErrors.badRequest(`the key of an object is not valid: ${key}`);
    if (restoreIdOf(key, value) === id) return this.#reserve(id, key, value);
    let isReserved = reserved.get(cluster);
    if (isReserved === undefined) reserved.set(cluster, (isReserved = this.#isReserved(id, cluster)));
    if (!(await isReserved))
      throw statusErrors.conflict(
        logicalClusters,
        cluster,
        `the restore ${id} has not reserved the logical cluster ${cluster} on this shard, or is finished`,
      );
    return this.#replace(key, value);
  }

  async #isReserved(id: string, cluster: string): Promise<boolean> {
    const key = `${logicalClusterPrefix}${cluster}/${logicalClusterObjectName}`;
    const stored = await this.#cache.get(key);
    return stored !== undefined && restoreIdOf(key, stored.value) === id;
  }

  async #reserve(id: string, key: string, value: Buffer): Promise<'created' | 'unchanged'> {
    try {
      await this.#cache.create(key, key.startsWith(logicalClusterPrefix) ? this.#placed(value) : value);
      return 'created';
    } catch (error) {
      if (!isStorageError(error, 'KeyExists')) throw error;
      const stored = await this.#cache.get(key);
      if (stored !== undefined && restoreIdOf(key, stored.value) === id) return 'unchanged';
      const name = key.slice(key.lastIndexOf('/') + 1);
      throw key.startsWith(workspacePrefix)
        ? statusErrors.alreadyExists(workspaces, name)
        : statusErrors.alreadyExists(logicalClusters, key.slice(logicalClusterPrefix.length));
    }
  }

  /** A LogicalCluster of this shard. */
  #placed(value: Buffer): Buffer {
    const object = parseJson(value) as unknown as KubeObject;
    object.metadata.annotations = { ...object.metadata.annotations, [shardAnnotation]: this.#options.shard };
    return bytesOf(object);
  }

  async #replace(key: string, value: Buffer): Promise<keyof RestoredPart> {
    const isEvent = eventPrefixes.some((prefix) => key.startsWith(prefix));
    const options = isEvent ? { ttlSeconds: this.#options.eventTtlSeconds } : {};
    for (;;) {
      try {
        await this.#cache.create(key, value, options);
        return 'created';
      } catch (error) {
        if (!isStorageError(error, 'KeyExists')) throw error;
      }
      const stored = await this.#cache.get(key);
      if (stored === undefined) continue;
      if (stored.value.equals(value)) return 'unchanged';
      try {
        await this.#cache.update(key, value, stored.revision, options);
        return 'replaced';
      } catch (error) {
        if (!isStorageError(error, 'RevisionConflict')) throw error;
      }
    }
  }
}

/** The restore that a LogicalCluster or Workspace is reserved by; undefined for other objects, and once it is finished. */
function restoreIdOf(key: string, value: Buffer): string | undefined {
  if (!key.startsWith(logicalClusterPrefix) && !key.startsWith(workspacePrefix)) return undefined;
  if (!value.includes(restoreAnnotation)) return undefined;
  return (parseJson(value) as unknown as KubeObject).metadata.annotations?.[restoreAnnotation];
}

/** Nothing of a part is written before all of it is verified. */
async function recordsOf(part: Buffer): Promise<StoredValue[]> {
  const records: StoredValue[] = [];
  try {
    const decoder = new SnapshotDecoder(only(part));
    await decoder.header();
    for await (const record of decoder.records()) records.push(record);
  } catch (error) {
    if (isStorageError(error, 'Unusable')) throw statusErrors.badRequest(error.message);
    throw error;
  }
  return records;
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield bytes;
}

const objectOf = ({ value }: StoredValue): KubeObject => parseJson(value) as unknown as KubeObject;
const bytesOf = (object: KubeObject): Buffer => Buffer.from(encodeJson(object as unknown as JsonObject));
