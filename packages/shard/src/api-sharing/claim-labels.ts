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

/** An object whose labels are asked for. */
export interface ClaimedObject extends GroupResource {
  readonly cluster: LogicalClusterName;
  /** Empty while a generated name is not made yet. */
  readonly name: string;
  /** Of a binding that nobody knows yet and that is bound from its first moment. */
  readonly export?: { readonly cluster: LogicalClusterName; readonly name: string };
}

/** A claim that is in force: the export has it, the consumer accepts it. */
interface Claim {
  readonly identity: string;
  readonly matches: (labels: Labels) => boolean;
  readonly labels: Labels;
}

/** Of what is not claimed. */
export const noLabels: Labels = Object.freeze({});
const noClaims: ReadonlyMap<string, readonly Claim[]> = new Map();

/** Written by the server alone: who may see an object by a claim. */
export const isClaimLabel = (key: string): boolean =>
  key.startsWith(claimLabelPrefix) || key.startsWith(withheldLabelPrefix);

/** Whether the labels of claims among `given` are just those. */
export function hasClaimLabels(given: Labels, expected: Labels): boolean {
  for (const key in given) if (isClaimLabel(key) && expected[key] !== given[key]) return false;
  for (const key in expected) if (given[key] !== expected[key]) return false;
  return true;
}

/**
 * Which labels of permission claims an object has to have (C6.15): the providers' views select by them, so they are what
 * a consumer's yes to a claim comes down to.
 *
 * A claim counts while the export makes it and the consumer accepts it; of a binding that goes away, until the objects of
 * its APIs are gone, since who provides them may need what is claimed to clean up. What the claims of a logical cluster
 * mean is made once per state of its bindings. Where nothing is claimed a look costs two lookups, however much is bound.
 */
export class ClaimLabels {
  readonly #bindings: Pick<BindingIndex, 'of' | 'boundResource'>;
  readonly #exports = new ExportLabelValues();
  readonly #claims = new WeakMap<readonly IndexedBinding[], ReadonlyMap<string, readonly Claim[]>>();

  constructor(modules: { readonly bindings: Pick<BindingIndex, 'of' | 'boundResource'> }) {
    this.#bindings = modules.bindings;
  }

  /** The labels of claims that an object with these labels must have; it may have no others. */
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
   * A binding is seen by who provides its export, whatever its consumer accepts (C1.2), and whatever verbs are kept from
   * them otherwise.
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

/** A selector that selects nothing in particular, or cannot be understood, selects nothing. */
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

/** Events of both groups are the same objects. */
const resourceKey = ({ group, resource }: GroupResource): string =>
  group === 'events.k8s.io' && resource === 'events' ? '/events' : `${group}/${resource}`;
