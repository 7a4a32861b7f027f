import type { GroupVersionResource, KubeObject } from '@multiplane/apimachinery';

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
  readonly state?: ClaimState;
}

export type Export = KubeObject & { readonly spec?: { readonly permissionClaims?: readonly Claim[] } };

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export type Binding = KubeObject & {
  readonly spec?: { readonly permissionClaims?: readonly Claim[] };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly exportPermissionClaims?: readonly Claim[];
  };
};

/** Which claims are meant; without either all of them. */
export interface ClaimFilter {
  /** As on the command line: `configmaps.core`, `widgets.example.com`. */
  readonly resource?: string | undefined;
  readonly identityHash?: string | undefined;
}

/** `resource.group`; the group of what has none is `core`, or left out. */
export function parseGroupResource(text: string): { readonly group: string; readonly resource: string } {
  const dot = text.indexOf('.');
  const group = dot < 0 ? '' : text.slice(dot + 1);
  return { group: group === 'core' ? '' : group, resource: dot < 0 ? text : text.slice(0, dot) };
}

/** As the plugins print it: `configmaps`, `widgets.example.com`. */
export const groupResourceText = ({ group = '', resource }: Claim): string =>
  group === '' ? resource : `${resource}.${group}`;

const isSameClaim = (a: Claim, b: Claim): boolean =>
  a.resource === b.resource && (a.group ?? '') === (b.group ?? '') && (a.identityHash ?? '') === (b.identityHash ?? '');

function matches(claim: Claim, filter: ClaimFilter): boolean {
  const wanted = filter.resource === undefined ? undefined : parseGroupResource(filter.resource);
  return (
    (wanted === undefined || (claim.resource === wanted.resource && (claim.group ?? '') === wanted.group)) &&
    (filter.identityHash === undefined || (claim.identityHash ?? '') === filter.identityHash)
  );
}

/**
 * What a binding says to a claim of its export: no more than is asked for. Unlike with kcp's plugin, identity hash, verbs
 * and default selector are the export's: without the hash a claim on another provider's API names nothing (C13.5).
 */
export function answered({ group, resource, verbs, identityHash, defaultSelector }: Claim, state: ClaimState): Claim {
  return {
    ...(group === undefined || group === '' ? {} : { group }),
    resource,
    verbs: verbs ?? ['*'],
    ...(identityHash === undefined || identityHash === '' ? {} : { identityHash }),
    selector:
      defaultSelector === undefined || Object.keys(defaultSelector).length === 0 ? { matchAll: true } : defaultSelector,
    state,
  };
}

/**
 * The claims of a binding after some were accepted or rejected: those it answers already get the state and keep the rest,
 * those of the export that it lacks are added (the reference reports success and leaves them out). Undefined when there
 * is no such claim.
 */
export function decide(binding: Binding, filter: ClaimFilter, state: ClaimState): Claim[] | undefined {
  const own = binding.spec?.permissionClaims ?? [];
  const exported = binding.status?.exportPermissionClaims ?? [];
  const missing = exported.filter(
    (claim) => matches(claim, filter) && !own.some((candidate) => isSameClaim(candidate, claim)),
  );
  const isAboutAll = filter.resource === undefined && filter.identityHash === undefined;
  if (!isAboutAll && missing.length === 0 && !own.some((claim) => matches(claim, filter))) return undefined;
  return [
    ...own.map((claim) => (matches(claim, filter) ? { ...claim, state } : claim)),
    ...missing.map((claim) => answered(claim, state)),
  ];
}

/** Rows of `kubectl kcp claims get apibinding`: one for each claim that a binding answers (C13.6). */
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

/** Columns three blanks apart, as kubectl prints tables. */
export function tableText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 3))).join(''),
    )
    .join('\n');
}
