import type { DeepReadonly, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { ClaimedObjects as WrittenObjects } from '@multiplane/apis';

type ClaimedObjects = DeepReadonly<WrittenObjects>;

export const apiBindings: GroupVersionResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apibindings' };
export const apiExports: GroupVersionResource = { group: 'apis.kcp.io', version: 'v1alpha2', resource: 'apiexports' };

export type ClaimState = 'Accepted' | 'Rejected';

/** A permission claim, of an export (with a default selector) or of a binding (with a selector and a state). */
export interface Claim {
  readonly group?: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly identityHash?: string;
  readonly defaultSelector?: object;
  readonly selector?: object;
  readonly objects?: ClaimedObjects;
  readonly subresources?: readonly string[];
  readonly state?: ClaimState;
}

export type Export = KubeObject & { readonly spec?: { readonly permissionClaims?: readonly Claim[] } };

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface BoundResource {
  readonly group?: string;
  readonly resource: string;
  /** Absent or empty: the objects are virtual, i.e. not stored in the workspace of the binding. */
  readonly storageVersions?: readonly string[];
}

export type Binding = KubeObject & {
  readonly spec?: {
    readonly permissionClaims?: readonly Claim[];
    readonly reference?: { readonly export?: { readonly path?: string; readonly name?: string } };
  };
  readonly status?: {
    readonly phase?: string;
    readonly boundResources?: readonly BoundResource[];
    readonly conditions?: readonly Condition[];
    readonly exportPermissionClaims?: readonly Claim[];
  };
};

/** Selects claims; all of them without either field. */
export interface ClaimFilter {
  /** As on the command line: `configmaps.core`, `widgets.example.com`. */
  readonly resource?: string | undefined;
  readonly identityHash?: string | undefined;
}

/** Parses `resource.group`; the core group is `core` or omitted. */
export function parseGroupResource(text: string): { readonly group: string; readonly resource: string } {
  const dot = text.indexOf('.');
  const group = dot < 0 ? '' : text.slice(dot + 1);
  return { group: group === 'core' ? '' : group, resource: dot < 0 ? text : text.slice(0, dot) };
}

/** Formats `configmaps` or `widgets.example.com`. */
export const groupResourceText = ({ group = '', resource }: Pick<Claim, 'group' | 'resource'>): string =>
  group === '' ? resource : `${resource}.${group}`;

/** Whether a claim of a binding answers that of an export. */
export const isSameClaim = (a: Claim, b: Claim): boolean =>
  a.resource === b.resource && (a.group ?? '') === (b.group ?? '') && (a.identityHash ?? '') === (b.identityHash ?? '');

function matches(claim: Claim, filter: ClaimFilter): boolean {
  const wanted = filter.resource === undefined ? undefined : parseGroupResource(filter.resource);
  return (
    (wanted === undefined || (claim.resource === wanted.resource && (claim.group ?? '') === wanted.group)) &&
    (filter.identityHash === undefined || (claim.identityHash ?? '') === filter.identityHash)
  );
}

/**
 * The claim of a binding for a claim of its export, with the given state. Unlike kcp's plugin, it copies identity hash,
 * verbs and default selector of the export: without the hash, a claim on another provider's API matches nothing.
 */
export function claimWithState(
  { group, resource, verbs, identityHash, defaultSelector, objects, subresources }: Claim,
  state: ClaimState,
): Claim {
  return {
    ...(group === undefined || group === '' ? {} : { group }),
    resource,
    verbs: verbs ?? ['*'],
    ...(identityHash === undefined || identityHash === '' ? {} : { identityHash }),
    selector:
      defaultSelector === undefined || Object.keys(defaultSelector).length === 0 ? { matchAll: true } : defaultSelector,
    // As the export has them now: what it asks for later needs another answer.
    ...(objects === undefined ? {} : { objects }),
    ...(subresources === undefined ? {} : { subresources }),
    state,
  };
}

/**
 * The claims of a binding with the state of the selected ones changed. Selected claims of the export that the binding does
 * not specify are added; kcp's plugin reports success without adding them. Undefined when no claim matches.
 */
export function updateClaims(binding: Binding, filter: ClaimFilter, state: ClaimState): Claim[] | undefined {
  const own = binding.spec?.permissionClaims ?? [];
  const exported = binding.status?.exportPermissionClaims ?? [];
  const missing = exported.filter(
    (claim) => matches(claim, filter) && !own.some((candidate) => isSameClaim(candidate, claim)),
  );
  const selectsAll = filter.resource === undefined && filter.identityHash === undefined;
  if (!selectsAll && missing.length === 0 && !own.some((claim) => matches(claim, filter))) return undefined;
  return [
    ...own.map((claim) => (matches(claim, filter) ? { ...claim, state } : claim)),
    ...missing.map((claim) => claimWithState(claim, state)),
  ];
}

/** Rows of `kubectl kcp claims get apibinding`: one per claim of a binding. */
export function claimRows(bindings: readonly Binding[]): string[][] {
  return bindings.flatMap(({ metadata, spec }) =>
    (spec?.permissionClaims ?? []).map((claim) => [
      metadata.name ?? '',
      groupResourceText(claim),
      (claim.verbs ?? []).join(','),
      claim.state ?? '',
    ]),
  );
}

/** The claims of the export that the binding neither accepts nor rejects. */
export function unansweredClaims({ spec, status }: Binding): readonly Claim[] {
  const answered = (spec?.permissionClaims ?? []).filter(({ state }) => state === 'Accepted' || state === 'Rejected');
  return (status?.exportPermissionClaims ?? []).filter((claim) => !answered.some((own) => isSameClaim(own, claim)));
}

/** Rows of the table that `kubectl kcp bind apiexport` prints: bound resources and where their objects come from. */
export function boundResourceRows({ status }: Binding): string[][] {
  return (status?.boundResources ?? []).map(({ group = '', resource, storageVersions = [] }) => [
    groupResourceText({ group, resource }),
    storageVersions.length === 0 ? 'virtual' : 'stored',
  ]);
}

/** Columns separated by three spaces, as kubectl prints tables. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 3))).join(''),
    )
    .join('\n');
}
