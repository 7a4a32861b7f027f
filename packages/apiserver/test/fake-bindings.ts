import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import type { APIResourceSchema, VirtualStorage } from '@multiplane/apis';
import { isBoundAsVirtual, type BoundApi, type BoundApis, type ExportedApis } from '../src/api-sharing/bound-apis.ts';

interface Bound {
  readonly group: string;
  readonly resource: string;
  /** Uid of the schema. */
  readonly uid: string;
  readonly identity: string;
  readonly deleting?: boolean;
  readonly exportCluster?: string;
  readonly exportName?: string;
  readonly isVirtual?: boolean;
}

/** Bindings that the test sets. */
export class FakeBindings implements BoundApis {
  readonly #apis = new Map<LogicalClusterName, Map<string, BoundApi>>();
  readonly #listeners = new Set<(cluster: LogicalClusterName) => void>();

  bind(cluster: LogicalClusterName, bound: Bound): void {
    const {
      group,
      resource,
      uid,
      identity,
      deleting = false,
      exportCluster,
      exportName = 'things',
      isVirtual = false,
    } = bound;
    const apis = this.#apis.get(cluster) ?? new Map<string, BoundApi>();
    this.#apis.set(cluster, apis);
    apis.set(`${resource}.${group}`, {
      binding: { name: 'b', exportCluster, exportName, deleting },
      bound: {
        group,
        resource,
        schema: { name: `v1.${resource}.${group}`, UID: uid, identityHash: identity },
        ...(isVirtual ? {} : { storageVersions: ['v1'] }),
      },
    });
    this.#notify(cluster);
  }

  unbind(cluster: LogicalClusterName, group: string, resource: string): void {
    this.#apis.get(cluster)?.delete(`${resource}.${group}`);
    this.#notify(cluster);
  }

  boundResource(cluster: LogicalClusterName, group: string, resource: string): BoundApi | undefined {
    return this.#apis.get(cluster)?.get(`${resource}.${group}`);
  }

  boundResources(cluster: LogicalClusterName): Iterable<BoundApi> {
    return this.#apis.get(cluster)?.values() ?? [];
  }

  schemasOf(identity: string, group: string, resource: string): string[] {
    const uids = Array.from(this.#apis.values())
      .map((apis) => apis.get(`${resource}.${group}`)?.bound.schema)
      .filter((schema) => schema?.identityHash === identity)
      .map((schema) => schema?.UID ?? '');
    return Array.from(new Set(uids));
  }

  isVirtual(identity: string, group: string, resource: string): boolean {
    return Array.from(this.#apis.values()).some((apis) => {
      const bound = apis.get(`${resource}.${group}`)?.bound;
      return bound?.schema.identityHash === identity && isBoundAsVirtual(bound);
    });
  }

  subscribe(listener: (cluster: LogicalClusterName) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notify(cluster: LogicalClusterName): void {
    for (const listener of this.#listeners) listener(cluster);
  }
}

/** Exports that the test sets, by identity. */
export class FakeExports implements ExportedApis {
  isSynced = true;
  readonly exports = new Map<string, { readonly cluster: LogicalClusterName; readonly name: string }[]>();
  readonly schemas = new Map<string, DeepReadonly<APIResourceSchema>>();
  /** Uid of the schema that every export offers for a resource. */
  readonly offered = new Map<string, string>();
  /** By resource. */
  readonly virtual = new Map<string, VirtualStorage>();
  state = 0;

  offer(resource: string, uid: string): void {
    this.offered.set(resource, uid);
    this.state++;
  }

  offeredSchema({ bound }: BoundApi): string | undefined {
    return this.offered.get(bound.resource);
  }

  setVirtual(resource: string, storage: VirtualStorage | undefined): void {
    if (storage === undefined) this.virtual.delete(resource);
    else this.virtual.set(resource, storage);
    this.state++;
  }

  virtualStorage({ bound }: BoundApi): VirtualStorage | undefined {
    return this.virtual.get(bound.resource);
  }

  virtualStorageOf(_identity: string, _group: string, resource: string): VirtualStorage | undefined {
    return this.virtual.get(resource);
  }

  exportsOf(identity: string): readonly { readonly cluster: LogicalClusterName; readonly name: string }[] {
    return this.exports.get(identity) ?? [];
  }

  schemaOf(identity: string, group: string, resource: string): DeepReadonly<APIResourceSchema> | undefined {
    return this.schemas.get(`${identity}/${group}/${resource}`);
  }
}
