import {
  labelSelectorFromObject,
  type DeepReadonly,
  type GroupResource,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  claimKey,
  claimLabelPrefix,
  claimLabels,
  ExportLabelValues,
  isReviewResource,
  reflexiveClaimLabelValue,
  withheldLabelPrefix,
  type AcceptablePermissionClaim,
  type ClaimSelector,
} from '@multiplane/apis';
import type { BindingIndex, IndexedBinding } from './binding-index.ts';

export type Labels = Readonly<Record<string, string>>;

/** The object whose claim labels are computed. */
export interface ClaimedObject extends GroupResource {
  readonly cluster: LogicalClusterName;
  /** Empty before a name is generated from `generateName`. */
  readonly name: string;
  /** The export of an APIBinding that is being created together with its bound status. */
  readonly export?: { readonly cluster: LogicalClusterName; readonly name: string };
}

/** A claim in force: made by the export and accepted by the consumer. */
interface Claim {
  readonly identity: string;
  readonly matches: (labels: Labels) => boolean;
  readonly labels: Labels;
}

/** The result for objects without claims; compared by identity. */
export const noLabels: Labels = Object.freeze({});
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
  readonly #exports = new ExportLabelValues();
  readonly #claims = new WeakMap<readonly IndexedBinding[], ReadonlyMap<string, readonly Claim[]>>();

  constructor(modules: { readonly bindings: Pick<BindingIndex, 'of' | 'boundResource'> }) {
    this.#bindings = modules.bindings;
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
        if (claim.identity === identity && claim.matches(labels)) expected = { ...expected, ...claim.labels };
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

  #identityOf({ cluster, group, resource }: ClaimedObject): string {
    return this.#bindings.boundResource(cluster, group, resource)?.bound.schema.identityHash ?? '';
  }

  #claimsOf(bindings: readonly IndexedBinding[]): ReadonlyMap<string, readonly Claim[]> {
    let claims = this.#claims.get(bindings);
    if (claims === undefined) this.#claims.set(bindings, (claims = claimsInForce(bindings)));
    return claims;
  }
}

/** By {@link resourceKey}. */
function claimsInForce(bindings: readonly IndexedBinding[]): ReadonlyMap<string, readonly Claim[]> {
  const inForce = new Map<string, Claim[]>();
  for (const binding of bindings) addClaims(binding, inForce);
  return inForce.size === 0 ? noClaims : inForce;
}

function addClaims(binding: IndexedBinding, inForce: Map<string, Claim[]>): void {
  const { exportCluster, exportName, claims, exportClaims, released } = binding;
  if (claims.length === 0 || exportClaims.length === 0 || exportCluster === undefined || released) return;
  const exported = new Set(exportClaims.map(claimKey));
  for (const claim of claims) {
    if (claim.state !== 'Accepted' || !exported.has(claimKey(claim))) continue;
    const key = resourceKey({ group: claim.group ?? '', resource: claim.resource });
    const made = claimOf(claim, exportCluster, exportName);
    const others = inForce.get(key);
    if (others === undefined) inForce.set(key, [made]);
    else others.push(made);
  }
}

const claimOf = (
  claim: DeepReadonly<AcceptablePermissionClaim>,
  exportCluster: LogicalClusterName,
  exportName: string,
): Claim => ({
  identity: claim.identityHash ?? '',
  matches: selection(claim.selector),
  labels: claimLabels(exportCluster, exportName, claim),
});

/** An empty or invalid selector matches nothing. */
function selection(selector: DeepReadonly<ClaimSelector> | undefined): (labels: Labels) => boolean {
  if (selector?.matchAll === true) return () => true;
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return () => false;
  try {
    const parsed = labelSelectorFromObject({ matchLabels, matchExpressions } as unknown as Json);
    return (labels) => parsed.matches(labels);
  } catch {
    return () => false;
  }
}

/** The events of groups "" and events.k8s.io are the same objects. */
const resourceKey = ({ group, resource }: GroupResource): string =>
  group === 'events.k8s.io' && resource === 'events' ? '/events' : `${group}/${resource}`;
