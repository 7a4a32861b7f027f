import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectMetadataRecord } from '@multiplane/client';

/**
 * Objects with owner references, by the uid of each owner, and owners that wait for their dependents. Objects that are
 * neither are not stored.
 */
export class DependentsIndex {
  readonly #records = new Map<string, ObjectMetadataRecord>();
  readonly #dependents = new Map<string, Set<string>>();
  readonly #waiting = new Map<string, string>();
  /** Number of records by logical cluster; most have none. */
  readonly #clusters = new Map<LogicalClusterName, number>();

  /** Key of an object over all logical clusters and kinds. */
  static key({ cluster, resource, namespace, name }: ObjectMetadataRecord): string {
    return `${cluster}|${resource.group}/${resource.resource}|${namespace}/${name}`;
  }

  set(record: ObjectMetadataRecord, old: ObjectMetadataRecord | undefined): void {
    const key = DependentsIndex.key(record);
    if (old !== undefined) this.#unlink(key, old);
    const owners = record.metadata.ownerReferences ?? [];
    if (owners.length === 0) {
      if (!this.#waiting.has(ownerId(record.cluster, record.uid))) this.#drop(key, record);
      else this.#put(key, record);
      return;
    }
    this.#put(key, record);
    for (const { uid } of owners) {
      const id = ownerId(record.cluster, uid);
      const set = this.#dependents.get(id);
      if (set === undefined) this.#dependents.set(id, new Set([key]));
      else set.add(key);
    }
  }

  delete(record: ObjectMetadataRecord): void {
    if (record.isIndependent && this.#waiting.size === 0) return;
    const key = DependentsIndex.key(record);
    // An independent object may be stored as an owner that waited for its dependents.
    if (record.isIndependent && !this.#records.has(key)) return;
    this.#unlink(key, record);
    this.#drop(key, record);
    this.#waiting.delete(ownerId(record.cluster, record.uid));
  }

  /** Stores an owner that waits for its dependents. */
  remember(record: ObjectMetadataRecord): void {
    const key = DependentsIndex.key(record);
    this.#put(key, record);
    this.#waiting.set(ownerId(record.cluster, record.uid), key);
  }

  forget(record: ObjectMetadataRecord): void {
    this.#waiting.delete(ownerId(record.cluster, record.uid));
    if ((record.metadata.ownerReferences ?? []).length === 0) this.#drop(DependentsIndex.key(record), record);
  }

  /** Whether the index has records of a logical cluster. If not, deletions there can be ignored. */
  hasAnyOf(cluster: LogicalClusterName): boolean {
    return this.#clusters.has(cluster);
  }

  /** The owner with this uid, if it waits for its dependents. */
  waiting(cluster: LogicalClusterName, uid: string): ObjectMetadataRecord | undefined {
    const key = this.#waiting.get(ownerId(cluster, uid));
    return key === undefined ? undefined : this.#records.get(key);
  }

  byKey(key: string): ObjectMetadataRecord | undefined {
    return this.#records.get(key);
  }

  dependentsOf(cluster: LogicalClusterName, uid: string): ObjectMetadataRecord[] {
    const keys = this.#dependents.get(ownerId(cluster, uid)) ?? [];
    return [...keys]
      .map((key) => this.#records.get(key))
      .filter((record): record is ObjectMetadataRecord => record !== undefined);
  }

  #put(key: string, record: ObjectMetadataRecord): void {
    const { size } = this.#records;
    this.#records.set(key, record);
    if (this.#records.size > size) this.#clusters.set(record.cluster, (this.#clusters.get(record.cluster) ?? 0) + 1);
  }

  #drop(key: string, { cluster }: ObjectMetadataRecord): void {
    if (!this.#records.delete(key)) return;
    const others = (this.#clusters.get(cluster) ?? 0) - 1;
    if (others > 0) this.#clusters.set(cluster, others);
    else this.#clusters.delete(cluster);
  }

  #unlink(key: string, record: ObjectMetadataRecord): void {
    for (const { uid } of record.metadata.ownerReferences ?? []) {
      const id = ownerId(record.cluster, uid);
      const set = this.#dependents.get(id);
      if (set?.delete(key) === true && set.size === 0) this.#dependents.delete(id);
    }
  }
}

const ownerId = (cluster: LogicalClusterName, uid: string): string => `${cluster}|${uid}`;
