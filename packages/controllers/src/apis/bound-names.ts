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
 * The names that bindings have in a logical cluster, for those who want to name something of their own there: a definition
 * in the workspace gives way to a binding that was first, as a binding does to a definition (C5.11).
 */
export class BoundNames {
  readonly #clusters: Lister<LogicalCluster>;
  readonly #bindings: Lister<APIBinding>;
  readonly #definitions: Lister<CustomResourceDefinition>;

  /** `freed` hears where names of a group may have become free. */
  constructor(modules: {
    readonly informers: InformerSource;
    readonly freed: (cluster: LogicalClusterName, group: string) => void;
  }) {
    const { informers, freed } = modules;
    const clusters = informers.informer<LogicalCluster>(logicalClusters);
    const bindings = informers.informer<APIBinding>(apiBindings);
    this.#clusters = clusters;
    this.#bindings = bindings;
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
    const left = (old: DeepReadonly<APIBinding>, cluster: LogicalClusterName): void => {
      for (const { group } of old.status?.boundResources ?? []) freed(cluster, group);
    };
    bindings.addHandlers({
      updated: (binding, old, { cluster }) => {
        const count = binding.status?.boundResources?.length ?? 0;
        if (count < (old.status?.boundResources?.length ?? 0)) left(old, cluster);
      },
      deleted: (old, { cluster }) => left(old, cluster),
    });
    clusters.addHandlers({
      updated: (object, old, { cluster }) => {
        for (const name of releasedLocks(old, object)) freed(cluster, groupOf(name));
      },
    });
  }

  /** Whether a resource is a binding's, or about to be. */
  has(cluster: LogicalClusterName, resource: GroupResource): boolean {
    const object = this.#clusters.get({ cluster, namespace: '', name: logicalClusterObjectName });
    if (locksOf(object).get(lockName(resource))?.n !== undefined) return true;
    return this.#bindings
      .list({ cluster })
      .some(({ status }) => status?.boundResources?.some((bound) => lockName(bound) === lockName(resource)) === true);
  }

  /** Names of all kinds that bindings have in a group. */
  taken(cluster: LogicalClusterName, group: string): TakenNames {
    const resources = new Set<string>();
    const kinds = new Set<string>();
    for (const { status } of this.#bindings.list({ cluster }))
      for (const bound of status?.boundResources ?? []) {
        if (bound.group !== group) continue;
        const place = { cluster: boundDefinitionsCluster as LogicalClusterName, namespace: '', name: bound.schema.UID };
        const names = this.#definitions.get(place)?.status?.acceptedNames;
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

/** Of a name as locks have it. */
const groupOf = (name: string): string => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');
