import { deepEqual, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  claimKey,
  isReviewResource,
  type APIBinding,
  type APIExport,
  type ScopedPermissionClaim,
} from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { ClaimedObjectFinder } from './permission-claim-labeler.ts';
import { WaitIndex } from './wait-index.ts';

type Claim = DeepReadonly<ScopedPermissionClaim>;

interface ClaimedResourceExistenceModules {
  readonly informers: InformerSource;
  /** APIExports of all shards. */
  readonly globalInformers: InformerSource;
  readonly objects: Pick<ClaimedObjectFinder, 'resourceOf'>;
  /** Called with the key of a binding when a resource that its claims name may exist or may exist no longer. */
  readonly changed: (bindingKey: string) => void;
}

/**
 * Tells which claims name a resource that does not exist. With an identity: no APIExport of the identity offers it, and the logical
 * cluster of the binding has not bound it. The consumer itself need not have the resource of another export (kcp:
 * test/e2e/apibinding/apibinding_permissionclaims_sharded_test.go). Without an identity: the logical cluster does not serve it.
 *
 * Bindings whose claims may begin or cease to exist are remembered, and reconciled when the first APIExport offers the resource or
 * the last one ceases to, or when their logical cluster gains or loses a resource of that name.
 */
export class ClaimedResourceExistence {
  readonly #objects: Pick<ClaimedObjectFinder, 'resourceOf'>;
  /** Number of APIExports by the {@link claimKey} of what they offer. */
  readonly #offers = new Map<string, number>();
  /** Keys of bindings, by the {@link claimKey} and the {@link servedName} that their claims depend on. */
  readonly #dependents = new WaitIndex();
  /** Keys of bindings that were asked for before the APIExports of all shards were known. */
  readonly #early = new Set<string>();
  readonly #changed: (bindingKey: string) => void;
  #isComplete = false;

  constructor({ informers, globalInformers, objects, changed }: ClaimedResourceExistenceModules) {
    this.#objects = objects;
    this.#changed = changed;
    globalInformers.informer<APIExport>(apiExports).addHandlers({
      added: (object) => this.#count(object, 1),
      updated: (object, old) => {
        this.#count(object, 1);
        this.#count(old, -1);
      },
      deleted: (old) => this.#count(old, -1),
      synced: () => {
        this.#isComplete = true;
        for (const key of this.#early) changed(key);
        this.#early.clear();
      },
    });
    const changedDefinition = (
      { spec }: DeepReadonly<CustomResourceDefinition>,
      { cluster }: { readonly cluster: LogicalClusterName },
    ): void => this.#notify(servedName(cluster, { group: spec.group, resource: spec.names.plural }));
    informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: changedDefinition,
      updated: (object, _old, reference) => changedDefinition(object, reference),
      deleted: changedDefinition,
    });
    const changedBinding = (
      before: DeepReadonly<APIBinding> | undefined,
      after: DeepReadonly<APIBinding> | undefined,
      { cluster }: { readonly cluster: LogicalClusterName },
    ): void => {
      const [old, current] = [before, after].map((binding) => binding?.status?.boundResources ?? []);
      // A binding is written often, and dependents of other resources are not concerned.
      if (deepEqual(old, current)) return;
      for (const resource of [...(old ?? []), ...(current ?? [])]) this.#notify(servedName(cluster, resource));
    };
    informers.informer<APIBinding>(apiBindings).addHandlers({
      updated: (binding, old, reference) => changedBinding(old, binding, reference),
      deleted: (old, reference) => changedBinding(old, undefined, reference),
    });
  }

  /**
   * The claims whose resource does not exist; replaces what was remembered of the binding. Undefined when that is not known yet,
   * until the APIExports of all shards are; the binding is reconciled then.
   */
  missing(bindingKey: string, cluster: LogicalClusterName, claims: Iterable<Claim>): Claim[] | undefined {
    const names = new Set<string>();
    const missing: Claim[] = [];
    for (const claim of claims) {
      const exists = this.#exists(cluster, claim);
      if (!exists) missing.push(claim);
      // Only built-in resources, which never cease to exist, are claimed without an identity.
      if (exists && (claim.identityHash ?? '') === '') continue;
      names.add(servedName(cluster, claim));
      names.add(claimKey(claim));
    }
    this.#dependents.set(bindingKey, [...names]);
    if (missing.length === 0 || this.#isComplete) return missing;
    this.#early.add(bindingKey);
    return undefined;
  }

  forget(bindingKey: string): void {
    this.#dependents.forget(bindingKey);
    this.#early.delete(bindingKey);
  }

  #exists(cluster: LogicalClusterName, claim: Claim): boolean {
    const { group = '', resource, identityHash = '' } = claim;
    if (this.#offers.has(claimKey(claim)) || isReviewResource({ group, resource })) return true;
    const served = this.#objects.resourceOf(cluster, { group, resource });
    return served !== undefined && (identityHash === '' || served.bound?.identity === identityHash);
  }

  #count({ spec, status }: DeepReadonly<APIExport>, change: 1 | -1): void {
    const { identityHash = '' } = status ?? {};
    if (identityHash === '') return;
    for (const { group = '', name } of spec?.resources ?? []) {
      const key = claimKey({ group, resource: name, identityHash });
      const before = this.#offers.get(key) ?? 0;
      const count = before + change;
      if (count > 0) this.#offers.set(key, count);
      else this.#offers.delete(key);
      if (before === 0 || count === 0) this.#notify(key);
    }
  }

  #notify(name: string): void {
    for (const bindingKey of this.#dependents.of(name)) this.#changed(bindingKey);
  }
}

/** Of a resource in a logical cluster, of whatever identity. */
const servedName = (
  cluster: LogicalClusterName,
  { group, resource }: { readonly group?: string | undefined; readonly resource: string },
): string => `${cluster}|${claimKey({ resource, ...(group === undefined ? {} : { group }) })}`;
