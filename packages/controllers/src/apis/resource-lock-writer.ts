import {
  isStatusError,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  formatLocks,
  lockName,
  locksOf,
  parseLocks,
  resourceBindingsAnnotation,
  type APIBinding,
  type ResourceLock,
  type ResourceLocks,
} from '@multiplane/apis';
import type { Lister, InformerSource, ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { isEstablished, crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';

/** Tries of one update against concurrent writers of the LogicalCluster; then the caller gets the Conflict. */
const maxAttempts = 5;

interface Modules {
  readonly informers: InformerSource;
  readonly client: ObjectClient;
  readonly clock: Clock;
}

/**
 * Locks names of resources in a logical cluster (kcp: pkg/reconciler/apis/apibinding/logical_cluster_lock.go). The locks
 * are an annotation of the LogicalCluster, written with optimistic concurrency: of two bindings that want a resource at
 * the same time exactly one gets it, also across replicas.
 */
export class ResourceLockWriter {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #bindings: Lister<APIBinding>;
  readonly #crds: Lister<CustomResourceDefinition>;
  readonly #client: ObjectClient;
  readonly #clock: Clock;

  constructor({ informers, client, clock }: Modules) {
    this.#clusters = informers.informer<LogicalCluster>(logicalClusters);
    this.#bindings = informers.informer<APIBinding>(apiBindings);
    this.#crds = informers.informer<CustomResourceDefinition>(crds);
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Locks the wanted names that are free for a binding, and releases its other names. Returns the wanted names that others
   * hold, with their locks. Throws NotFound if there is no LogicalCluster.
   */
  async acquire(
    cluster: LogicalClusterName,
    binding: string,
    wanted: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, ResourceLock>> {
    const heldByOthers = new Map<string, ResourceLock>();
    if (this.#holdsExactly(cluster, binding, wanted)) return heldByOthers;
    await this.update(cluster, (locks) => {
      heldByOthers.clear();
      for (const [name, { n }] of locks) if (n === binding && !wanted.has(name)) locks.delete(name);
      for (const name of wanted) {
        const lock = locks.get(name);
        if (lock === undefined || lock.n === binding || this.#isExpired(cluster, name, lock))
          locks.set(name, { n: binding });
        else heldByOthers.set(name, lock);
      }
    });
    return heldByOthers;
  }

  #holdsExactly(cluster: LogicalClusterName, binding: string, wanted: ReadonlySet<string>): boolean {
    const locks = locksOf(this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName }));
    let held = 0;
    for (const [name, { n }] of locks) {
      if (n !== binding) continue;
      if (!wanted.has(name)) return false;
      held++;
    }
    return held > 0 && held === wanted.size;
  }

  /** Edits the locks in one write, or in none if they stay the same. `edit` is called again after a Conflict. */
  async update(cluster: LogicalClusterName, edit: (locks: ResourceLocks) => void): Promise<void> {
    const reference = { cluster, namespace: '', name: logicalClusterObjectName };
    let object: DeepReadonly<KubeObject> | undefined = this.#clusters.get(reference);
    // kcp's lister names the resource in the singular.
    if (object === undefined)
      throw statusErrors.notFound({ group: logicalClusters.group, resource: 'logicalcluster' }, reference.name);
    for (let attempt = 1; ; attempt++) {
      const before = object.metadata.annotations?.[resourceBindingsAnnotation];
      const locks = before === undefined || before === '' ? this.initialLocks(cluster) : parseLocks(before);
      edit(locks);
      const after = formatLocks(locks);
      if (after === before) return;
      const { uid = '', resourceVersion = '' } = object.metadata;
      try {
        await this.#client.patch(logicalClusters, reference, 'application/merge-patch+json', {
          metadata: { uid, resourceVersion, annotations: { [resourceBindingsAnnotation]: after } },
        });
        return;
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || attempt === maxAttempts) throw error;
      }
      object = await this.#client.get(logicalClusters, reference);
    }
  }

  /** The locks of a LogicalCluster without the annotation: those of its bound resources and established CRDs. */
  initialLocks(cluster: LogicalClusterName): ResourceLocks {
    const locks: ResourceLocks = new Map();
    for (const { metadata, status } of this.#bindings.list({ cluster }))
      for (const bound of status?.boundResources ?? [])
        if (!locks.has(lockName(bound))) locks.set(lockName(bound), { n: metadata.name ?? '' });
    for (const [name, established] of this.definitions(cluster))
      if (established && !locks.has(name)) locks.set(name, { c: true });
    return locks;
  }

  /** The CRDs of a logical cluster by the name of their lock, and whether they are established. */
  definitions(cluster: LogicalClusterName): Map<string, boolean> {
    return new Map(this.#crds.list({ cluster }).map((crd) => [lockNameOf(crd), isEstablished(crd)]));
  }

  /** The lock was taken for the creation of a CRD that was not created in time. */
  #isExpired(cluster: LogicalClusterName, name: string, { c, e }: ResourceLock): boolean {
    return c === true && e !== undefined && Date.parse(e) < this.#clock.now() && !this.definitions(cluster).has(name);
  }
}

/** The name of the lock of a CRD. */
export const lockNameOf = ({ spec }: DeepReadonly<CustomResourceDefinition>): string =>
  lockName({ group: spec.group, resource: spec.names.plural });
