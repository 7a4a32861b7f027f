import type { DeepReadonly } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema, ExportedResource } from './api-sharing.ts';
import {
  cachedGroupVersionResource,
  cachedResourceEndpointSliceKind,
  cachedResources,
  resourceKindAnnotation,
  resourceScopeAnnotation,
  type CachedResource,
} from './cached-resources.ts';

/** `storage.virtual` of a resource of an APIExport. */
export type VirtualStorageSpec = NonNullable<NonNullable<ExportedResource['storage']>['virtual']>;

export const virtualStorageOf = (
  resource: DeepReadonly<ExportedResource>,
): DeepReadonly<VirtualStorageSpec> | undefined => resource.storage?.virtual;

/** Whether `storage.virtual` refers to a CachedResourceEndpointSlice. */
export function isCachedResourceStorage({ reference }: DeepReadonly<VirtualStorageSpec>): boolean {
  return reference.apiGroup === cachedResources.group && reference.kind === cachedResourceEndpointSliceKind;
}

/** The resource that an export serves through a CachedResourceEndpointSlice of its logical cluster. */
export function resourceOfSlice(
  { spec }: DeepReadonly<APIExport>,
  slice: string,
): DeepReadonly<ExportedResource> | undefined {
  return spec?.resources?.find((resource) => {
    const virtual = virtualStorageOf(resource);
    return virtual !== undefined && isCachedResourceStorage(virtual) && virtual.reference.name === slice;
  });
}

/**
 * Why an exported resource cannot be served from a CachedResource: its identity or its APIResourceSchema does not fit.
 * Undefined: it can. A CachedResource whose kind is not known yet fits every kind.
 */
export function virtualStorageProblem(
  exported: DeepReadonly<ExportedResource>,
  schema: DeepReadonly<APIResourceSchema> | undefined,
  cached: DeepReadonly<CachedResource>,
): { readonly reason: string; readonly message: string } | undefined {
  const { group, version, resource } = cachedGroupVersionResource(cached);
  const { name = '', annotations = {} } = cached.metadata;
  const identity = cached.status?.identityHash;
  const given = virtualStorageOf(exported)?.identityHash ?? '';
  if (identity !== undefined && identity !== given)
    return {
      reason: 'IdentityMismatch',
      message: `identityHash "${given}" of resource ${nameOf(exported)} must match status.identityHash "${identity}" of CachedResource ${name}`,
    };
  const invalid = (message: string): { reason: string; message: string } => ({
    reason: 'APIResourceSchemaInvalid',
    message: `APIResourceSchema ${exported.schema} ${message}`,
  });
  if (schema?.spec === undefined) return invalid('not found');
  const { names, scope, versions } = schema.spec;
  const cachedName = nameOf({ group, name: resource });
  if ((schema.spec.group ?? '') !== group || names.plural !== resource)
    return invalid(
      `is of ${nameOf({ group: schema.spec.group, name: names.plural })}, but CachedResource ${name} caches ${cachedName}`,
    );
  if (!versions.some((one) => one.name === version && one.served))
    return invalid(`does not serve version ${version}, which CachedResource ${name} caches`);
  const kind = annotations[resourceKindAnnotation];
  if (kind !== undefined && names.kind !== kind)
    return invalid(`is of kind ${names.kind}, but ${cachedName} is of kind ${kind}`);
  const cachedScope = annotations[resourceScopeAnnotation];
  if (cachedScope !== undefined && scope !== cachedScope)
    return invalid(`has scope ${scope}, but ${cachedName} has scope ${cachedScope}`);
  return undefined;
}

const nameOf = ({ group = '', name }: { readonly group?: string | undefined; readonly name: string }): string =>
  group === '' ? name : `${name}.${group}`;
