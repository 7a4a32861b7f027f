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

/** Others write logical clusters, too; whoever loses against them so often comes back later. */
const attempts = 5;

interface Modules {
  readonly informers: InformerSource;
  readonly client: ObjectClient;
  readonly clock: Clock;
}

/**
 * The lock on names of resources in a logical cluster (C2.4): an annotation of its LogicalCluster, written at the version
 * that was read. So of two bindings that want the same resource at once exactly one gets it, also on two replicas.
 */
export class ResourceLockKeeper {
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
   * Locks what a binding wants, as far as nobody else has it, and lets go of what it holds besides. Returns who has the
   * rest. Throws NotFound when there is no LogicalCluster to hold the locks.
   */
  async hold(
    cluster: LogicalClusterName,
    binding: string,
    wanted: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, ResourceLock>> {
    const skipped = new Map<string, ResourceLock>();
    if (this.#holds(cluster, binding, wanted)) return skipped;
    await this.change(cluster, (locks) => {
      skipped.clear();
      for (const [name, { n }] of locks) if (n === binding && !wanted.has(name)) locks.delete(name);
      for (const name of wanted) {
        const lock = locks.get(name);
        if (lock === undefined || lock.n === binding || this.#isOver(cluster, name, lock))
          locks.set(name, { n: binding });
        else skipped.set(name, lock);
      }
    });
    return skipped;
  }

  /** Whether a binding has all that it wants, and nothing else. */
  #holds(cluster: LogicalClusterName, binding: string, wanted: ReadonlySet<string>): boolean {
    const locks = locksOf(this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName }));
    let held = 0;
    for (const [name, { n }] of locks) {
      if (n !== binding) continue;
      if (!wanted.has(name)) return false;
      held++;
    }
    return held > 0 && held === wanted.size;
  }

  /** Changes the locks in one write, or in none when they stay the same. */
  async change(cluster: LogicalClusterName, edit: (locks: ResourceLocks) => void): Promise<void> {
    const reference = { cluster, namespace: '', name: logicalClusterObjectName };
    let object: DeepReadonly<KubeObject> | undefined = this.#clusters.get(reference);
    // The message of kcp's lister, which says the singular.
    if (object === undefined)
      throw statusErrors.notFound({ group: logicalClusters.group, resource: 'logicalcluster' }, reference.name);
    for (let attempt = 1; ; attempt++) {
      const before = object.metadata.annotations?.[resourceBindingsAnnotation];
      const locks = before === undefined || before === '' ? this.initial(cluster) : parseLocks(before);
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
        if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error;
      }
      object = await this.#client.get(logicalClusters, reference);
    }
  }

  /** What is locked where nobody wrote it down yet. */
  initial(cluster: LogicalClusterName): ResourceLocks {
    const locks: ResourceLocks = new Map();
    for (const { metadata, status } of this.#bindings.list({ cluster }))
      for (const bound of status?.boundResources ?? [])
        if (!locks.has(lockName(bound))) locks.set(lockName(bound), { n: metadata.name ?? '' });
    for (const [name, isEstablished] of this.definitions(cluster))
      if (isEstablished && !locks.has(name)) locks.set(name, { c: true });
    return locks;
  }

  /** Own definitions of a logical cluster by the name they lock; true: established. */
  definitions(cluster: LogicalClusterName): Map<string, boolean> {
    return new Map(this.#crds.list({ cluster }).map((crd) => [lockNameOf(crd), isEstablished(crd)]));
  }

  /** A lock for a definition that did not come in time. */
  #isOver(cluster: LogicalClusterName, name: string, { c, e }: ResourceLock): boolean {
    return c === true && e !== undefined && Date.parse(e) < this.#clock.now() && !this.definitions(cluster).has(name);
  }
}

const lockNameOf = ({ spec }: DeepReadonly<CustomResourceDefinition>): string =>
  lockName({ group: spec.group, resource: spec.names.plural });

/** Locks as the reference prints them: `map[<resource>.<group>:{<binding> <whether it is of a definition>}]` (C5.11). */
export function locksText(locks: ReadonlyMap<string, ResourceLock>): string {
  const entries = [...locks].sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([name, { n = '', c = false }]) => `${name}:{${n} ${c}}`).join(' ')}]`;
}
