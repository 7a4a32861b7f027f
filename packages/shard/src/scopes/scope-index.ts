import type { DeepReadonly, GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExportScopes,
  scopeHasResource,
  scopeInForce,
  scopesOverlap,
  type APIExportScope,
  type ScopeInForce,
} from '@multiplane/apis';
import { storedValueOf } from '@multiplane/apiserver';
import type { InformerSource, ObjectReference } from '@multiplane/client';
import { type CacheIndexes } from '@multiplane/storage';

/** A scope in force. */
export interface IndexedScope extends ScopeInForce {
  readonly cluster: LogicalClusterName;
  readonly name: string;
  readonly object: DeepReadonly<APIExportScope>;
}

/** The scopes of the exports with one identity. */
interface IdentityScopes {
  readonly scopes: Set<IndexedScope>;
  /** Number of scopes of each key. */
  readonly keys: Map<string, number>;
  /** By group and resource, as far as they were requested. */
  resources: Map<string, ScopesByKey>;
}

/** The scopes of one resource by the key of their selector (a label, or a field with a leading dot), then by value. */
export type ScopesByKey = ReadonlyMap<string, ReadonlyMap<string, IndexedScope>>;

const noScopes: ScopesByKey = new Map();

/**
 * The APIExportScopes in force, of all shards, by the identity of their export. Admission reads it for every write of a bound
 * resource: for an export without scopes that is one map lookup. The scopes of a resource are computed on first use after a
 * change of a scope of the same identity; a change of its status alone is none.
 *
 * While an identity has scopes with a key, the watch cache has an index of its objects by this label or field, so that lists and
 * watches of a scope read its own objects and events only.
 */
export class ScopeIndex {
  readonly #byReference = new Map<string, IndexedScope>();
  readonly #byIdentity = new Map<string, IdentityScopes>();
  readonly #indexes: CacheIndexes | undefined;

  constructor(modules: {
    readonly informers: InformerSource;
    /** Of the watch cache of this shard. */
    readonly indexes: CacheIndexes | undefined;
  }) {
    this.#indexes = modules.indexes;
    modules.informers.informer<APIExportScope>(apiExportScopes).addHandlers({
      added: (object, reference) => this.#set(object, reference),
      updated: (object, _old, reference) => this.#set(object, reference),
      deleted: (_old, reference) => this.#delete(reference),
    });
  }

  get(cluster: string, name: string): IndexedScope | undefined {
    return this.#byReference.get(keyOf(cluster, name));
  }

  /** The scopes that a resource with an identity has objects in. */
  of(identity: string, resource: GroupResource): ScopesByKey {
    const entry = this.#byIdentity.get(identity);
    if (entry === undefined) return noScopes;
    const key = `${resource.group}/${resource.resource}`;
    let scopes = entry.resources.get(key);
    if (scopes === undefined) entry.resources.set(key, (scopes = scopesOfResource(entry.scopes, resource)));
    return scopes;
  }

  /** A scope in force with the same export, key and value, and at least one common resource. */
  overlapping(
    scope: DeepReadonly<APIExportScope>,
    { cluster, name }: { readonly cluster: string; readonly name: string },
    exported: { readonly cluster: string; readonly name: string },
  ): IndexedScope | undefined {
    return this.#byReference
      .values()
      .find(
        (other) =>
          other.exportCluster === exported.cluster &&
          other.exportName === exported.name &&
          (other.cluster !== cluster || other.name !== name) &&
          scopesOverlap(scope, other.object),
      );
  }

  #set(object: DeepReadonly<APIExportScope>, reference: ObjectReference): void {
    const inForce = object.metadata.deletionTimestamp === undefined ? scopeInForce(object) : undefined;
    const key = keyOf(reference.cluster, reference.name);
    const known = this.#byReference.get(key);
    if (known !== undefined && inForce !== undefined && isSameScope(known, { ...inForce, object })) return;
    this.#delete(reference);
    if (inForce === undefined) return;
    const scope = { ...inForce, cluster: reference.cluster, name: reference.name, object };
    this.#byReference.set(key, scope);
    const identity = scope.identityHash;
    let entry = this.#byIdentity.get(identity);
    if (entry === undefined)
      this.#byIdentity.set(identity, (entry = { scopes: new Set(), keys: new Map(), resources: new Map() }));
    entry.scopes.add(scope);
    entry.resources = new Map();
    const sameKey = entry.keys.get(scope.key) ?? 0;
    entry.keys.set(scope.key, sameKey + 1);
    if (sameKey === 0)
      this.#indexes?.add({ identity, name: scope.key, valueOf: (stored) => storedValueOf(stored, scope.key) });
  }

  #delete({ cluster, name }: ObjectReference): void {
    const key = keyOf(cluster, name);
    const scope = this.#byReference.get(key);
    if (scope === undefined) return;
    this.#byReference.delete(key);
    const entry = this.#byIdentity.get(scope.identityHash);
    if (entry === undefined) return;
    entry.scopes.delete(scope);
    entry.resources = new Map();
    const sameKey = (entry.keys.get(scope.key) ?? 1) - 1;
    if (sameKey > 0) entry.keys.set(scope.key, sameKey);
    else {
      entry.keys.delete(scope.key);
      this.#indexes?.remove(scope.identityHash, scope.key);
    }
    if (entry.scopes.size === 0) this.#byIdentity.delete(scope.identityHash);
  }
}

/** True if an update changed nothing that the index or admission reads. */
function isSameScope(a: ScopeInForce & Pick<IndexedScope, 'object'>, b: typeof a): boolean {
  return (
    a.object.metadata.uid === b.object.metadata.uid &&
    a.object.metadata.generation !== undefined &&
    a.object.metadata.generation === b.object.metadata.generation &&
    a.exportCluster === b.exportCluster &&
    a.exportName === b.exportName &&
    a.identityHash === b.identityHash &&
    a.key === b.key &&
    a.value === b.value
  );
}

const keyOf = (cluster: string, name: string): string => `${cluster}/${name}`;

function scopesOfResource(scopes: Iterable<IndexedScope>, resource: GroupResource): ScopesByKey {
  const byKey = new Map<string, Map<string, IndexedScope>>();
  for (const scope of scopes) {
    if (!scopeHasResource(scope.object, resource)) continue;
    const byValue = byKey.get(scope.key);
    if (byValue === undefined) byKey.set(scope.key, new Map([[scope.value, scope]]));
    else byValue.set(scope.value, scope);
  }
  return byKey;
}
