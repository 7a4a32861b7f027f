import type { DeepReadonly, GroupResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  claimLabelPrefix,
  claimLabels,
  claimsInForce,
  ExportLabelValues,
  exportProviderGroup,
  isReviewResource,
  reflexiveClaimLabelValue,
  withheldLabelPrefix,
  type AcceptablePermissionClaim,
} from '@multiplane/apis';
import type { BindingIndex, IndexedBinding } from './binding-index.ts';
import { claimSelection, type Labels, type SelectedObject, type Selection } from './claim-selection.ts';
import { sourceOf, type ClaimReferences, type ReferenceSource } from './claim-references.ts';

/** The object whose claim labels are computed. */
export interface ClaimedObject extends SelectedObject {
  /** The export of an APIBinding that is being created together with its bound status. */
  readonly export?: { readonly cluster: LogicalClusterName; readonly name: string };
}

/** A claim in force: made by the export and accepted by the consumer. */
interface Claim {
  readonly identity: string;
  readonly matches: Selection;
  readonly labels: Labels;
  readonly sources: readonly ReferenceSource[];
  /** The group of the export's provider, where the claim is for some objects of the resource only. */
  readonly limitedGroup: string | undefined;
}

/** The result for objects without claims; compared by identity. */
export const noLabels: Labels = Object.freeze({});
const noGroups: readonly string[] = Object.freeze([]);
const noClaims: ReadonlyMap<string, readonly Claim[]> = new Map();

/** Whether only the server may write the label: it decides which provider sees the object. */
export const isClaimLabel = (key: string): boolean =>
  key.startsWith(claimLabelPrefix) || key.startsWith(withheldLabelPrefix);

/** Whether the claim labels among `given` equal `expected`. `keys`: those of `given`. */
export function hasClaimLabels(given: Labels, expected: Labels, keys: readonly string[] = Object.keys(given)): boolean {
  // An object may have 60,000 labels, and `for … in` takes a microsecond for each of so many.
  for (const key of keys) if (isClaimLabel(key) && expected[key] !== given[key]) return false;
  for (const key in expected) if (given[key] !== expected[key]) return false;
  return true;
}

/**
 * Computes the permission claim labels of objects. The APIExport virtual workspaces select claimed objects by these labels,
 * so they implement the consumer's acceptance of a claim (kcp `pkg/permissionclaim`).
 *
 * A claim is in force while the export makes it and the consumer accepts it. The claims of a binding that is being deleted
 * stay in force until the objects of its APIs are gone, because the provider may need claimed objects to clean up. The claims
 * of a logical cluster are compiled once per state of its bindings; for an unclaimed object this costs two map lookups,
 * whatever the number of bindings.
 */
export class ClaimLabels {
  readonly #bindings: Pick<BindingIndex, 'of' | 'boundResource'>;
  readonly #references: Pick<ClaimReferences, 'ready' | 'has'>;
  readonly #exports = new ExportLabelValues();
  readonly #claims = new WeakMap<readonly IndexedBinding[], ReadonlyMap<string, readonly Claim[]>>();

  constructor(modules: {
    readonly bindings: Pick<BindingIndex, 'of' | 'boundResource'>;
    readonly references: Pick<ClaimReferences, 'ready' | 'has'>;
  }) {
    this.#bindings = modules.bindings;
    this.#references = modules.references;
  }

  /** Undefined: {@link expected} knows all that objects of the resource are named by; else it resolves when it does. */
  ready({ cluster, group, resource }: GroupResource & Pick<ClaimedObject, 'cluster'>): Promise<void> | undefined {
    const claims = this.#claimsOn(cluster, { group, resource });
    const sources = claims?.flatMap((claim) => claim.sources) ?? [];
    return sources.length === 0 ? undefined : this.#references.ready(sources);
  }

  /**
   * The exports whose claims do not cover an object with these labels, by the groups of their providers: who comes through
   * such an export must not write it. Only of claims that are limited to some objects.
   */
  groupsKeptOut(object: ClaimedObject, labels: Labels): readonly string[] {
    const claims = this.#claimsOn(object.cluster, object);
    if (claims === undefined || claims.every(({ limitedGroup }) => limitedGroup === undefined)) return noGroups;
    const identity = this.#identityOf(object);
    return claims.flatMap(({ limitedGroup, ...claim }) =>
      limitedGroup === undefined || claim.identity !== identity || claim.matches(object, labels) ? [] : [limitedGroup],
    );
  }

  /** The exact set of claim labels for an object with these labels. */
  expected(object: ClaimedObject, labels: Labels): Labels {
    const bindings = this.#bindings.of(object.cluster);
    if ((bindings.length === 0 && object.export === undefined) || isReviewResource(object)) return noLabels;
    let expected: Record<string, string> | undefined;
    const claims = this.#claimsOf(bindings).get(resourceKey(object));
    if (claims !== undefined) {
      const identity = this.#identityOf(object);
      for (const claim of claims)
        if (claim.identity === identity && claim.matches(object, labels)) expected = { ...expected, ...claim.labels };
    }
    return this.#withReflexive(object, bindings, expected) ?? noLabels;
  }

  /**
   * An APIBinding is always visible to the provider of its export, without an accepted claim and whatever verbs a claim
   * withholds.
   */
  #withReflexive(
    { group, resource, name, export: exported }: ClaimedObject,
    bindings: readonly IndexedBinding[],
    expected: Labels | undefined,
  ): Labels | undefined {
    if (group !== apiBindings.group || resource !== apiBindings.resource) return expected;
    const binding = bindings.find((candidate) => candidate.name === name);
    const exportCluster = binding?.exportCluster ?? exported?.cluster;
    if (exportCluster === undefined) return expected;
    const own = this.#exports.of(exportCluster, binding?.exportName ?? exported?.name ?? '');
    const { [`${withheldLabelPrefix}${own}`]: _, ...others } = expected ?? {};
    return { [`${claimLabelPrefix}${own}`]: reflexiveClaimLabelValue, ...others };
  }

  #identityOf({ cluster, group, resource }: GroupResource & Pick<ClaimedObject, 'cluster'>): string {
    return this.#bindings.boundResource(cluster, group, resource)?.bound.schema.identityHash ?? '';
  }

  #claimsOf(bindings: readonly IndexedBinding[]): ReadonlyMap<string, readonly Claim[]> {
    let claims = this.#claims.get(bindings);
    if (claims === undefined) this.#claims.set(bindings, (claims = this.#claimsInForce(bindings)));
    return claims;
  }

  #claimsOn(cluster: LogicalClusterName, resource: GroupResource): readonly Claim[] | undefined {
    const bindings = this.#bindings.of(cluster);
    return bindings.length === 0 ? undefined : this.#claimsOf(bindings).get(resourceKey(resource));
  }

  /** By {@link resourceKey}. */
  #claimsInForce(bindings: readonly IndexedBinding[]): ReadonlyMap<string, readonly Claim[]> {
    const inForce = new Map<string, Claim[]>();
    for (const binding of bindings) this.#addClaims(binding, inForce);
    return inForce.size === 0 ? noClaims : inForce;
  }

  #addClaims(binding: IndexedBinding, inForce: Map<string, Claim[]>): void {
    const { exportCluster, claims, exportClaims, released } = binding;
    if (claims.length === 0 || exportClaims.length === 0 || exportCluster === undefined || released) return;
    const accepted = claims.filter(({ state }) => state === 'Accepted');
    for (const claim of claimsInForce(accepted, exportClaims)) {
      const key = resourceKey({ group: claim.group ?? '', resource: claim.resource });
      const made = this.#claimOf(claim, binding, exportCluster);
      const others = inForce.get(key);
      if (others === undefined) inForce.set(key, [made]);
      else others.push(made);
    }
  }

  #claimOf(
    claim: DeepReadonly<AcceptablePermissionClaim>,
    { exportName, bound }: IndexedBinding,
    exportCluster: LogicalClusterName,
  ): Claim {
    const claimed = { group: claim.group ?? '', resource: claim.resource };
    const sources = (claim.objects?.references ?? []).flatMap((reference) => sourceOf(reference, claimed, bound) ?? []);
    const isNamed = ({ cluster, namespace, name }: SelectedObject): boolean =>
      sources.some((source) => this.#references.has(source, cluster, namespace, name));
    return {
      identity: claim.identityHash ?? '',
      matches: claimSelection(claim, isNamed),
      labels: claimLabels(exportCluster, exportName, claim),
      sources,
      limitedGroup: claim.objects === undefined ? undefined : exportProviderGroup(exportCluster, exportName),
    };
  }
}

/** The events of groups "" and events.k8s.io are the same objects. */
const resourceKey = ({ group, resource }: GroupResource): string =>
  group === 'events.k8s.io' && resource === 'events' ? '/events' : `${group}/${resource}`;
