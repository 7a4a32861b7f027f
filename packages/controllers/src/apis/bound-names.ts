import type { DeepReadonly, GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  boundDefinitionsCluster,
  lockName,
  locksOf,
  releasedLocks,
  type APIBinding,
} from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import { crds, type CustomResourceDefinition, type TakenNames } from '../apiextensions/crd-names.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';

/**
 * The names of resources and kinds that APIBindings own in a logical cluster. A CRD in the workspace does not get a name
 * that a binding had before, as a binding does not get a name of an earlier CRD.
 */
export class BoundNames {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #bindings: Lister<APIBinding>;
  readonly #definitions: Lister<CustomResourceDefinition>;

  /** `onReleased` is called when names of a group may have become free. */
  constructor(modules: {
    readonly informers: InformerSource;
    readonly onReleased: (cluster: LogicalClusterName, group: string) => void;
  }) {
    const { informers, onReleased } = modules;
    const clusters = informers.informer<LogicalCluster>(logicalClusters);
    const bindings = informers.informer<APIBinding>(apiBindings);
    this.#clusters = clusters;
    this.#bindings = bindings;
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
    const releaseAll = (old: DeepReadonly<APIBinding>, cluster: LogicalClusterName): void => {
      for (const { group } of old.status?.boundResources ?? []) onReleased(cluster, group);
    };
    bindings.addHandlers({
      updated: (binding, old, { cluster }) => {
        const count = binding.status?.boundResources?.length ?? 0;
        if (count < (old.status?.boundResources?.length ?? 0)) releaseAll(old, cluster);
      },
      deleted: (old, { cluster }) => releaseAll(old, cluster),
    });
    clusters.addHandlers({
      updated: (object, old, { cluster }) => {
        for (const name of releasedLocks(old, object)) onReleased(cluster, groupOf(name));
      },
    });
  }

  /** Whether a binding has a resource bound or locked. */
  has(cluster: LogicalClusterName, resource: GroupResource): boolean {
    const object = this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    if (locksOf(object).get(lockName(resource))?.n !== undefined) return true;
    return this.#bindings
      .list({ cluster })
      .some(({ status }) => status?.boundResources?.some((bound) => lockName(bound) === lockName(resource)) === true);
  }

  /** The names that bindings own in a group: of resources, including singular and short names, and of kinds. */
  taken(cluster: LogicalClusterName, group: string): TakenNames {
    const resources = new Set<string>();
    const kinds = new Set<string>();
    for (const { status } of this.#bindings.list({ cluster }))
      for (const bound of status?.boundResources ?? []) {
        if (bound.group !== group) continue;
        const reference = {
          cluster: boundDefinitionsCluster as LogicalClusterName,
          namespace: '',
          name: bound.schema.UID,
        };
        const names = this.#definitions.get(reference)?.status?.acceptedNames;
        for (const name of [bound.resource, names?.singular, ...(names?.shortNames ?? [])])
          if (name !== undefined && name !== '') resources.add(name);
        for (const name of [names?.kind, names?.listKind]) if (name !== undefined && name !== '') kinds.add(name);
      }
    return {
      resource: (name) => resources.has(name) || this.has(cluster, { group, resource: name }),
      kind: (name) => kinds.has(name),
    };
  }
}

/** The group in the name of a lock. */
const groupOf = (name: string): string => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');
