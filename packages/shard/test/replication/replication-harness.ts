import { CacheInformerFactory, DecodedObjects, encodeForStorage, ObjectReader } from '@multiplane/apiserver';
import { apiVersionOf, type KubeObject } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import { replicateAnnotationOf, isReplicated, toCachedObject, type ReplicatedKind } from '@multiplane/controllers';
import {
  builtInPrefix,
  cacheKey,
  customResourcePrefix,
  MemoryStorage,
  objectKey,
  openWatchCache,
  type Storage,
} from '@multiplane/storage';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { nextMacrotask, Publisher, unclosed } from './publisher.ts';
import { LossyStorage, type WriteOutcome } from './lossy-storage.ts';
import { FakeClock } from '@multiplane/testing';

export const policies: ReplicatedKind = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicies',
};
export const clusterRoles: ReplicatedKind = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  onlyAnnotated: true,
  onlyInReplicatedClusters: true,
};
export const logicalClusters: ReplicatedKind = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
  onlyAnnotated: true,
};
export const harnessKinds: readonly ReplicatedKind[] = [policies, clusterRoles, logicalClusters];
const kindNames: Readonly<Record<string, string>> = {
  validatingadmissionpolicies: 'ValidatingAdmissionPolicy',
  clusterroles: 'ClusterRole',
  logicalclusters: 'LogicalCluster',
};

export interface ObjectLocation {
  readonly kind: ReplicatedKind;
  readonly cluster: string;
  readonly name: string;
}

/** Shards with storages of their own, their publishing processes, and the common cache storage. */
export class ReplicationHarness {
  readonly clock = new FakeClock();
  readonly shared = new LossyStorage();
  readonly #shards: ReadonlyMap<string, Storage>;
  readonly #publishers = new Map<string, Publisher>();

  constructor(shards: readonly string[]) {
    this.#shards = new Map(shards.map((shard) => [shard, new MemoryStorage()]));
  }

  /** Creates or replaces an object of a shard. */
  async put(
    shard: string,
    place: ObjectLocation,
    metadata: Partial<KubeObject['metadata']>,
    content: unknown,
  ): Promise<void> {
    const { kind, cluster, name } = place;
    const value = encodeForStorage({
      apiVersion: apiVersionOf(kind),
      kind: kindNames[kind.resource] as string,
      metadata: {
        name,
        uid: '00000000-0000-4000-8000-000000000000',
        creationTimestamp: '2026-01-01T00:00:00Z',
        ...metadata,
        annotations: { 'kcp.io/cluster': cluster, ...metadata.annotations },
        managedFields: [{ manager: 'test' }],
      },
      ...(kind === logicalClusters ? {} : { spec: { content } }),
    });
    const storage = this.storageOf(shard);
    const key = localKey(place);
    const current = await storage.get(key);
    if (current === undefined) await storage.create(key, value);
    else await storage.update(key, value, current.revision);
  }

  async remove(shard: string, place: ObjectLocation): Promise<void> {
    const storage = this.storageOf(shard);
    const current = await storage.get(localKey(place));
    if (current !== undefined) await storage.delete(current.key, current.revision);
  }

  /** Starts a process of a shard; several run under different names. */
  async start(shard: string, process: string, outcomes: readonly WriteOutcome[] = []): Promise<void> {
    this.kill(shard, process);
    const publisher = new Publisher(
      { shardName: shard, kinds: harnessKinds, outcomes },
      { local: this.storageOf(shard), shared: this.shared, clock: this.clock },
    );
    this.#publishers.set(`${shard}/${process}`, publisher);
    await publisher.start();
  }

  kill(shard: string, process: string): void {
    this.#publishers.get(`${shard}/${process}`)?.kill();
    this.#publishers.delete(`${shard}/${process}`);
  }

  /** Delays the watch events of a process until {@link resumeAll}. */
  pause(shard: string, process: string): void {
    this.#publishers.get(`${shard}/${process}`)?.pause();
  }

  resumeAll(): void {
    for (const publisher of this.#publishers.values()) publisher.resume();
  }

  killAll(): void {
    for (const publisher of this.#publishers.values()) publisher.kill();
    this.#publishers.clear();
  }

  /** Advances the clock until nothing was written for longer than the longest delay. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 4;) {
      const { writes } = this.shared;
      await this.clock.advance(20_000);
      for (let tick = 0; tick < 5; tick++) await nextMacrotask();
      quiet = this.shared.writes === writes ? quiet + 1 : 0;
    }
  }

  /** The content of the cache by key. */
  async cachedObjects(): Promise<Map<string, string>> {
    const { items } = await this.shared.list('/cache/');
    return new Map(items.map(({ key, value }) => [key, value.toString()]));
  }

  /** The content that the invariant requires. */
  async expectedObjects(): Promise<Map<string, string>> {
    const expected = new Map<string, string>();
    for (const [shard, storage] of this.#shards) {
      const cache = openWatchCache({}, { storage: unclosed(storage), clock: this.clock, onError: () => {} });
      await cache.ready;
      const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 * 1024 }) });
      const informers = new CacheInformerFactory({ cache, reader, builtIn: builtInResources() });
      const isShared = (cluster: LogicalClusterName): boolean =>
        replicateAnnotationOf(
          informers.informer(logicalClusters).get({ cluster, namespace: '', name: 'cluster' }) ?? unmarked,
        ) !== '';
      for (const kind of harnessKinds) {
        for (const object of informers.informer(kind).list()) {
          const cluster = object.metadata.annotations?.['kcp.io/cluster'] as LogicalClusterName;
          if (!isReplicated(kind, cluster, object, isShared)) continue;
          const key = cacheKey(kind, { shard, cluster, namespace: '', name: object.metadata.name as string });
          expected.set(key, encodeForStorage(toCachedObject(shard, object) as KubeObject).toString());
        }
      }
      await cache.close();
    }
    return new Map([...expected].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  storageOf(shard: string): Storage {
    const storage = this.#shards.get(shard);
    if (storage === undefined) throw new Error(`no shard ${shard}`);
    return storage;
  }
}

const localPrefix = ({ group, resource }: ReplicatedKind): string =>
  group === 'core.kcp.io' ? customResourcePrefix(group, resource) : builtInPrefix(group, resource);

const unmarked: KubeObject = { apiVersion: 'v1', kind: 'None', metadata: {} };

const localKey = ({ kind, cluster, name }: ObjectLocation): string =>
  objectKey(localPrefix(kind), {
    cluster: cluster as LogicalClusterName,
    namespace: '',
    name,
  });
