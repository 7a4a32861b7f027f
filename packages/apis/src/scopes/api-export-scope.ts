import type { DeepReadonly, GroupResource, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';
import type { KcpCondition } from '../kcp/api-sharing.ts';

export const scopesGroup = 'scopes.multiplane.dev';
const ofScopes = (resource: string): GroupVersionResource => ({ group: scopesGroup, version: 'v1alpha1', resource });
export const apiExportScopes = ofScopes('apiexportscopes');
export const apiExportScopeSets = ofScopes('apiexportscopesets');
export const apiExportScopeEndpointSlices = ofScopes('apiexportscopeendpointslices');
export const scopesApiVersion = `${scopesGroup}/v1alpha1`;

/** Set on an APIExportScope: no APIExportScopeEndpointSlice of the same name is created. */
export const skipScopeSliceAnnotation = 'apiexportscopes.scopes.multiplane.dev/skip-endpointslice';
/** On an object: a transfer to another scope that waits for finalizers, as JSON. Written by the server only. */
export const transferAnnotation = 'scopes.multiplane.dev/transfer';
/** On an object: the finalizers that were added through its scope, by {@link ScopeSelector} key, as JSON. Written by the server only. */
export const scopeFinalizersAnnotation = 'scopes.multiplane.dev/finalizers';
/** On an object: conditions about its scope, as JSON: `TransferPending`, for people and tools. Written by the server only. */
export const scopeConditionsAnnotation = 'scopes.multiplane.dev/conditions';
/** In an update that changes the label or field after the deadline: move the object now. Never stored. */
export const forceTransferAnnotation = 'scopes.multiplane.dev/force-transfer';
/** In an update while a transfer is pending: the object stays in its scope. Never stored. */
export const cancelTransferAnnotation = 'scopes.multiplane.dev/cancel-transfer';

/** What a scope and the template of a set have in common. */
export interface ScopePolicy {
  /** Absent or empty: all resources of the export. */
  resources?: { group?: string; resource: string }[];
  permissionClaims?: 'Excluded' | 'Labelled';
  assignment?: 'Consumer' | 'Provider';
  transfer?: 'Forbidden' | 'WhenFinalizersGone';
  transferDeadlineSeconds?: number;
}

interface ExportPath {
  path?: string;
  name: string;
}

export type APIExportScope = KubeObject & {
  spec?: ScopePolicy & {
    export: ExportPath;
    /** One label, or one field by its path without the leading dot. */
    selector: { matchLabels?: Record<string, string>; matchFields?: Record<string, string> };
  };
  status?: {
    /** The label key or the field path. */
    key?: string;
    value?: string;
    /** Of a scope by a label. */
    labelKey?: string;
    labelValue?: string;
    /** Fixed when the export is found for the first time. */
    exportCluster?: string;
    /** Present while the scope is in force. */
    identityHash?: string;
    /** One entry per shard with consumers; each shard applies its own. */
    shards?: { name: string; objects: number }[];
    conditions?: KcpCondition[];
  };
};

export type APIExportScopeSet = KubeObject & {
  spec?: {
    export: ExportPath;
    /** Either the key of a label or the path of a field. */
    labelKey?: string;
    fieldPath?: string;
    /** The values that get a scope; else those that occur. */
    values?: string[];
    occurring?: { limit: number };
    template?: ScopePolicy;
  };
  status?: {
    /** As of a scope. */
    exportCluster?: string;
    identityHash?: string;
    /** The label key or the field path. */
    key?: string;
    count?: number;
    /** The values that occur on each shard with consumers; each shard applies its own entry. */
    shards?: { name: string; values: string[] }[];
    conditions?: KcpCondition[];
  };
};

export type APIExportScopeEndpointSlice = KubeObject & {
  spec?: { scope: { name: string }; partition?: string };
  status?: { endpoints?: { url: string }[]; shardSelector?: string; conditions?: KcpCondition[] };
};

/**
 * What the objects of a scope have in common. `key` is the key of a label, or the path of a field with a leading dot: no label
 * key begins with one, so a key says which of both it is.
 */
export interface ScopeSelector {
  readonly key: string;
  readonly value: string;
}

export const isFieldKey = (key: string): boolean => key.startsWith('.');
export const fieldKeyOf = (path: string): string => `.${path}`;
/** The key as users write it: fields without the leading dot. */
export const shownKey = (key: string): string => (isFieldKey(key) ? key.slice(1) : key);

/** Undefined if the selector is not one key and value. */
export function scopeSelector({ spec }: DeepReadonly<APIExportScope>): ScopeSelector | undefined {
  const { matchLabels = {}, matchFields = {} } = spec?.selector ?? {};
  const entries = [
    ...Object.entries(matchLabels),
    ...Object.entries(matchFields).map(([path, value]) => [fieldKeyOf(path), value] as const),
  ];
  const [entry] = entries;
  return entry === undefined || entries.length > 1 ? undefined : { key: entry[0], value: entry[1] };
}

/** The key that the scopes of a set have; undefined if the set names none. */
export function scopeSetKey({ spec }: DeepReadonly<APIExportScopeSet>): string | undefined {
  return spec?.fieldPath === undefined ? spec?.labelKey : fieldKeyOf(spec.fieldPath);
}

/** A scope in force: its export was found, and no older scope has its key and value. */
export interface ScopeInForce extends ScopeSelector {
  readonly exportCluster: string;
  readonly exportName: string;
  readonly identityHash: string;
}

/** Undefined for a scope that is not in force: it has no endpoint and protects nothing. */
export function scopeInForce(scope: DeepReadonly<APIExportScope>): ScopeInForce | undefined {
  const selector = scopeSelector(scope);
  const { exportCluster = '', identityHash = '' } = scope.status ?? {};
  if (selector === undefined || exportCluster === '' || identityHash === '') return undefined;
  return { ...selector, exportCluster, exportName: scope.spec?.export.name ?? '', identityHash };
}

/** A set that makes scopes of the values that occur, and whose export was found. */
export interface OccurringSet {
  readonly key: string;
  /** Most scopes that it makes. */
  readonly limit: number;
  readonly exportCluster: string;
  readonly exportName: string;
  readonly identityHash: string;
}

/** Undefined for a set with a list of values, or one whose export was not found yet. */
export function occurringSet(set: DeepReadonly<APIExportScopeSet>): OccurringSet | undefined {
  const { spec, status } = set;
  const { exportCluster = '', identityHash = '' } = status ?? {};
  const key = scopeSetKey(set);
  if (spec?.occurring === undefined || key === undefined || exportCluster === '' || identityHash === '')
    return undefined;
  const { occurring, export: exported } = spec;
  return { key, limit: occurring.limit, exportCluster, exportName: exported.name, identityHash };
}

/** Whether a resource of the export belongs to the scope, or to those of a set by its template. */
export function scopeHasResource({ spec }: DeepReadonly<APIExportScope>, resource: GroupResource): boolean {
  return policyHasResource(spec, resource);
}

export function policyHasResource(
  policy: DeepReadonly<ScopePolicy> | undefined,
  { group, resource }: GroupResource,
): boolean {
  const resources = policy?.resources ?? [];
  return resources.length === 0 || resources.some((one) => (one.group ?? '') === group && one.resource === resource);
}

/** Whether two scopes of one export select by the same key and value in at least one resource. */
export function scopesOverlap(one: DeepReadonly<APIExportScope>, other: DeepReadonly<APIExportScope>): boolean {
  const a = scopeSelector(one);
  const b = scopeSelector(other);
  if (a === undefined || b === undefined || a.key !== b.key || a.value !== b.value) return false;
  const resources = one.spec?.resources ?? [];
  if (resources.length === 0 || (other.spec?.resources ?? []).length === 0) return true;
  return resources.some(({ group = '', resource }) => scopeHasResource(other, { group, resource }));
}

/**
 * Group that only the warrant of a scope's virtual workspace carries. Admission of the shard limits requests of its members to
 * the objects of the scope.
 */
export const scopeProviderGroup = (cluster: string, name: string): string => `${scopeProviderPrefix}${cluster}:${name}`;
const scopeProviderPrefix = 'system:kcp:apiexport-scope:';

/** The scope that {@link scopeProviderGroup} names; undefined for any other group. */
export function scopeOfGroup(group: string): { readonly cluster: string; readonly name: string } | undefined {
  if (!group.startsWith(scopeProviderPrefix)) return undefined;
  const rest = group.slice(scopeProviderPrefix.length);
  const colon = rest.indexOf(':');
  return colon < 0 ? undefined : { cluster: rest.slice(0, colon), name: rest.slice(colon + 1) };
}
