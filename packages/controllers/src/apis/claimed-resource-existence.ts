import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
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

type Claim = DeepReadonly<ScopedPermissionClaim>;

interface ClaimedResourceExistenceModules {
  readonly informers: InformerSource;
  /** APIExports of all shards. */
  readonly globalInformers: InformerSource;
  readonly objects: Pick<ClaimedObjectFinder, 'resourceOf'>;
  /** Called with the key of a binding when a resource may exist that its claims missed. */
  readonly appeared: (bindingKey: string) => void;
}

/**
 * Tells which claims name a resource that does not exist: the logical cluster of the binding does not serve it, and no APIExport of
 * the claimed identity offers it. The consumer itself need not have the resource of another export (kcp:
 * test/e2e/apibinding/apibinding_permissionclaims_sharded_test.go).
 *
 * Bindings with such claims are remembered, and reconciled when an APIExport offers the resource, or when a definition or a
 * binding of their logical cluster changes. Until the APIExports of all shards are known, no claim counts as missing.
 */
export class ClaimedResourceExistence {
  readonly #objects: Pick<ClaimedObjectFinder, 'resourceOf'>;
  readonly #appeared: (bindingKey: string) => void;
  /** Number of APIExports by the {@link claimKey} of what they offer. */
  readonly #offers = new Map<string, number>();
  /** Keys of waiting bindings, by the {@link claimKey} and by the logical cluster that they wait for. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #awaited = new Map<string, readonly string[]>();
  #isComplete = false;

  constructor({ informers, globalInformers, objects, appeared }: ClaimedResourceExistenceModules) {
    this.#objects = objects;
    this.#appeared = appeared;
    globalInformers.informer<APIExport>(apiExports).addHandlers({
      added: (object) => this.#count(object, 1),
      updated: (object, old) => {
        this.#count(object, 1);
        this.#count(old, -1);
      },
      deleted: (old) => this.#count(old, -1),
      synced: () => {
        this.#isComplete = true;
        for (const key of this.#awaited.keys()) this.#appeared(key);
      },
    });
    const changedIn = (cluster: LogicalClusterName): void => this.#changed(cluster);
    informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: (_object, { cluster }) => changedIn(cluster),
      updated: (_object, _old, { cluster }) => changedIn(cluster),
    });
    informers.informer<APIBinding>(apiBindings).addHandlers({
      updated: ({ status }, old, { cluster }) => {
        if (status?.boundResources !== old.status?.boundResources) changedIn(cluster);
      },
    });
  }

  /** The claims whose resource does not exist; replaces what was remembered of the binding. */
  missing(bindingKey: string, cluster: LogicalClusterName, claims: Iterable<Claim>): Claim[] {
    const unknown = Array.from(claims).filter((claim) => !this.#exists(cluster, claim));
    this.#await(bindingKey, unknown.length === 0 ? [] : [cluster, ...unknown.map((claim) => claimKey(claim))]);
    return this.#isComplete ? unknown : [];
  }

  #exists(cluster: LogicalClusterName, claim: Claim): boolean {
    const { group = '', resource } = claim;
    return (
      this.#offers.has(claimKey(claim)) ||
      isReviewResource({ group, resource }) ||
      this.#objects.resourceOf(cluster, { group, resource }) !== undefined
    );
  }

  #count({ spec, status }: DeepReadonly<APIExport>, change: 1 | -1): void {
    const { identityHash = '' } = status ?? {};
    if (identityHash === '') return;
    for (const { group = '', name } of spec?.resources ?? []) {
      const key = claimKey({ group, resource: name, identityHash });
      const count = (this.#offers.get(key) ?? 0) + change;
      if (count > 0) this.#offers.set(key, count);
      else this.#offers.delete(key);
      if (change > 0) this.#changed(key);
    }
  }

  #changed(awaited: string): void {
    for (const bindingKey of this.#waiting.get(awaited) ?? []) this.#appeared(bindingKey);
  }

  #await(bindingKey: string, awaited: readonly string[]): void {
    for (const key of this.#awaited.get(bindingKey) ?? []) {
      const waiting = this.#waiting.get(key);
      waiting?.delete(bindingKey);
      if (waiting?.size === 0) this.#waiting.delete(key);
    }
    if (awaited.length === 0) {
      this.#awaited.delete(bindingKey);
      return;
    }
    this.#awaited.set(bindingKey, awaited);
    for (const key of awaited) {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) this.#waiting.set(key, new Set([bindingKey]));
      else waiting.add(bindingKey);
    }
  }
}
