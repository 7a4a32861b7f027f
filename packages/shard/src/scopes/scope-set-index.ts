import type { DeepReadonly, GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExportScopeSets,
  occurringSet,
  policyHasResource,
  type APIExportScopeSet,
  type OccurringSet,
} from '@multiplane/apis';
import type { InformerSource, ObjectReference } from '@multiplane/client';

/** A set that makes scopes of the values that occur. */
export interface IndexedSet extends OccurringSet {
  readonly cluster: LogicalClusterName;
  readonly name: string;
  readonly object: DeepReadonly<APIExportScopeSet>;
}

const noSets: ReadonlyMap<string, IndexedSet> = new Map();

/** The APIExportScopeSets of occurring values, of all shards, by the identity of their export. */
export class ScopeSetIndex {
  readonly #byIdentity = new Map<string, Map<string, IndexedSet>>();
  readonly #identities = new Map<string, string>();

  constructor(modules: { readonly informers: InformerSource }) {
    modules.informers.informer<APIExportScopeSet>(apiExportScopeSets).addHandlers({
      added: (object, reference) => this.#set(object, reference),
      updated: (object, _old, reference) => this.#set(object, reference),
      deleted: (_old, reference) => this.#delete(reference),
    });
  }

  /** By key; of several sets with one key, the one whose reference is first. */
  of(identity: string, resource: GroupResource): ReadonlyMap<string, IndexedSet> {
    const sets = this.#byIdentity.get(identity);
    if (sets === undefined) return noSets;
    const byKey = new Map<string, IndexedSet>();
    for (const reference of [...sets.keys()].sort()) {
      const set = sets.get(reference) as IndexedSet;
      if (!byKey.has(set.key) && policyHasResource(set.object.spec?.template, resource)) byKey.set(set.key, set);
    }
    return byKey;
  }

  #set(object: DeepReadonly<APIExportScopeSet>, reference: ObjectReference): void {
    this.#delete(reference);
    const occurring = object.metadata.deletionTimestamp === undefined ? occurringSet(object) : undefined;
    if (occurring === undefined) return;
    const { cluster, name } = reference;
    const key = `${cluster}/${name}`;
    const sets = this.#byIdentity.get(occurring.identityHash);
    const set = { ...occurring, cluster, name, object };
    if (sets === undefined) this.#byIdentity.set(occurring.identityHash, new Map([[key, set]]));
    else sets.set(key, set);
    this.#identities.set(key, occurring.identityHash);
  }

  #delete({ cluster, name }: ObjectReference): void {
    const key = `${cluster}/${name}`;
    const identity = this.#identities.get(key);
    if (identity === undefined) return;
    this.#identities.delete(key);
    const sets = this.#byIdentity.get(identity);
    sets?.delete(key);
    if (sets?.size === 0) this.#byIdentity.delete(identity);
  }
}
