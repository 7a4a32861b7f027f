import type { LogicalClusterName, OwnerReference } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { LRUCache } from 'lru-cache';

/** As in Kubernetes (pkg/controller/garbagecollector, absentOwnerCache). */
const capacity = 500;

/**
 * Owners whose deletion was seen while they had dependents, the last 500. Their definition may be gone before a dependent is
 * processed; the owner cannot be read then, but it is known to be absent.
 */
export class AbsentOwners {
  /** Namespaces by logical cluster and uid. */
  readonly #namespaces = new LRUCache<string, string>({ max: capacity });

  add({ cluster, uid, namespace }: ObjectMetadataRecord): void {
    this.#namespaces.set(key(cluster, uid), namespace);
  }

  /** An object exists, perhaps again: a restored one has the uid that it had. */
  remove({ cluster, uid }: ObjectMetadataRecord): void {
    if (this.#namespaces.size > 0) this.#namespaces.delete(key(cluster, uid));
  }

  /** Whether the owner of an object is known to be absent: a cluster-scoped one, or one in the object's namespace. */
  has(dependent: ObjectMetadataRecord, { uid }: OwnerReference): boolean {
    const namespace = this.#namespaces.get(key(dependent.cluster, uid));
    return namespace !== undefined && (namespace === '' || namespace === dependent.namespace);
  }
}

const key = (cluster: LogicalClusterName, uid: string): string => `${cluster}|${uid}`;
