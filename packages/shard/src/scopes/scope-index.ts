import type { DeepReadonly, GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExportScopes,
  scopeHasResource,
  scopeInForce,
  scopesOverlap,
  type APIExportScope,
  type ScopeInForce,
} from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';

/** A scope in force. */
export interface IndexedScope extends ScopeInForce {
  readonly cluster: LogicalClusterName;
  readonly name: string;
  readonly object: DeepReadonly<APIExportScope>;
}

/** The scopes of one resource by label key, then by label value. */
export type ScopesByLabel = ReadonlyMap<string, ReadonlyMap<string, IndexedScope>>;

const noScopes: ScopesByLabel = new Map();

/**
 * The APIExportScopes in force, of all shards, by the identity of their export. Admission reads it for every write of a bound
 * resource: for an export without scopes that is one map lookup. The scopes of a resource are computed on first use after a
 * change of a scope of the same identity.
 */
export class ScopeIndex {
  readonly #byReference = new Map<string, IndexedScope>();
  readonly #byIdentity = new Map<
    string,
    { readonly scopes: Set<IndexedScope>; resources: Map<string, ScopesByLabel> }
  >();

  constructor(modules: { readonly informers: InformerSource }) {
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
  of(identity: string, resource: GroupResource): ScopesByLabel {
    const entry = this.#byIdentity.get(identity);
    if (entry === undefined) return noScopes;
    const key = `${resource.group}/${resource.resource}`;
    let scopes = entry.resources.get(key);
    if (scopes === undefined) entry.resources.set(key, (scopes = scopesOfResource(entry.scopes, resource)));
    return scopes;
  }

  /** A scope in force with the same export, label and at least one common resource. */
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
    this.#delete(reference);
    const inForce = object.metadata.deletionTimestamp === undefined ? scopeInForce(object) : undefined;
    if (inForce === undefined) return;
    const scope = { ...inForce, cluster: reference.cluster, name: reference.name, object };
    this.#byReference.set(keyOf(reference.cluster, reference.name), scope);
    const entry = this.#byIdentity.get(scope.identityHash);
    if (entry === undefined)
      this.#byIdentity.set(scope.identityHash, { scopes: new Set([scope]), resources: new Map() });
    else {
      entry.scopes.add(scope);
      entry.resources = new Map();
    }
  }

  #delete({ cluster, name }: ObjectReference): void {
    const key = keyOf(cluster, name);
    const scope = this.#byReference.get(key);
    if (scope === undefined) return;
    this.#byReference.delete(key);
    const entry = this.#byIdentity.get(scope.identityHash);
    entry?.scopes.delete(scope);
    if (entry?.scopes.size === 0) this.#byIdentity.delete(scope.identityHash);
    else if (entry !== undefined) entry.resources = new Map();
  }
}

const keyOf = (cluster: string, name: string): string => `${cluster}/${name}`;

function scopesOfResource(scopes: Iterable<IndexedScope>, resource: GroupResource): ScopesByLabel {
  const byKey = new Map<string, Map<string, IndexedScope>>();
  for (const scope of scopes) {
    if (!scopeHasResource(scope.object, resource)) continue;
    const byValue = byKey.get(scope.key);
    if (byValue === undefined) byKey.set(scope.key, new Map([[scope.value, scope]]));
    else byValue.set(scope.value, scope);
  }
  return byKey;
}
