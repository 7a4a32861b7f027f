import { groupResourceText, StatusError, type DeepReadonly, type GroupResource } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema, ExportedResource } from './api-sharing.ts';
import {
  cachedGroupVersionResource,
  cachedResourceEndpointSliceKinds,
  cachedResources,
  resourceKindAnnotation,
  resourceScopeAnnotation,
  type CachedResource,
} from './cached-resources.ts';
import type { ResourceDefinition, Subresource, Verb } from '../resource-definition.ts';

/** `storage.virtual` of a resource of an APIExport. */
export type VirtualStorageSpec = NonNullable<NonNullable<ExportedResource['storage']>['virtual']>;

export const virtualStorageOf = (
  resource: DeepReadonly<ExportedResource>,
): DeepReadonly<VirtualStorageSpec> | undefined => resource.storage?.virtual;

/** Whether `storage.virtual` refers to a CachedResourceEndpointSlice, by either of its names. */
export function isCachedResourceStorage({ reference }: DeepReadonly<VirtualStorageSpec>): boolean {
  return reference.apiGroup === cachedResources.group && cachedResourceEndpointSliceKinds.has(reference.kind);
}

const readVerbs: readonly Verb[] = ['get', 'list', 'watch'];

/** A resource, and its subresources, of which clients only read the objects. */
export function readOnlyDefinition(definition: ResourceDefinition): ResourceDefinition {
  const subresources = Object.fromEntries<Subresource>(
    Object.entries(definition.subresources).map(([name, part]) => [name, { ...part, verbs: ['get'] }]),
  );
  return { ...definition, verbs: readVerbs, subresources };
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

export interface VirtualStorageProblem {
  readonly reason: 'IdentityMismatch' | 'APIResourceSchemaInvalid';
  readonly message: string;
}

/**
 * Why an exported resource cannot be served from a CachedResource: its identity or its APIResourceSchema does not fit.
 * Undefined: it can. A CachedResource whose kind is not known yet fits every kind.
 */
export function virtualStorageProblem(
  exported: DeepReadonly<ExportedResource>,
  schema: DeepReadonly<APIResourceSchema> | undefined,
  cached: DeepReadonly<CachedResource>,
): VirtualStorageProblem | undefined {
  const { group, version, resource } = cachedGroupVersionResource(cached);
  const { name = '', annotations = {} } = cached.metadata;
  const identity = cached.status?.identityHash;
  const given = virtualStorageOf(exported)?.identityHash ?? '';
  if (identity !== undefined && identity !== given)
    return {
      reason: 'IdentityMismatch',
      message: `identityHash "${given}" of resource ${nameOf(exported)} must match status.identityHash "${identity}" of CachedResource ${name}`,
    };
  const invalid = (message: string): VirtualStorageProblem => ({
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

/**
 * 503 for consumers of a virtual resource that cannot be served: it names nothing of the provider but the APIExport that they have
 * bound. `mayRecover`: the fault may pass by itself, so clients should retry. kcp answers 500 with the names of the provider's objects.
 */
export function virtualResourceUnavailable(
  resource: GroupResource,
  exported: { readonly path: string; readonly name: string },
  { mayRecover, cause }: { readonly mayRecover: boolean; readonly cause?: unknown },
): StatusError {
  const subject = `the virtual resource ${groupResourceText(resource)} of APIExport ${exported.path}:${exported.name}`;
  const why = mayRecover
    ? 'is not available yet'
    : 'is not available: its provider has not set it up correctly; please contact the owner of the APIExport, ' +
      'whose condition VirtualStorageValid says what to do';
  return new StatusError({
    code: 503,
    reason: 'ServiceUnavailable',
    message: `${subject} ${why}`,
    ...(mayRecover ? { details: { retryAfterSeconds: 1 } } : {}),
    cause,
  });
}
