import { fieldErrors, FieldPath, type DeepReadonly, type FieldError } from '@multiplane/apimachinery';
import {
  cachedResourceEndpointSliceKinds,
  cachedResources,
  virtualStorageOf,
  type APIExport,
  type ExportedResource,
} from '@multiplane/apis';

/** Groups whose endpoint slices are the system's own: no tenant can serve objects of these kinds. */
const isSystemGroup = (group: string): boolean =>
  group === '' || group.endsWith('.k8s.io') || group.endsWith('.kubernetes.io') || group.endsWith('.kcp.io');

/**
 * Validates `storage` of the resources of an APIExport beyond the schema. An identity hash that differs from that of the
 * CachedResource is accepted, as in kcp, and reported by the condition `VirtualStorageValid`. `isBound` reports whether this
 * shard has a binding with a resource of the export: its storage must not be switched, since the stored objects of consumers
 * would become invisible, or virtual ones be shadowed. `isEnabled`: the feature gate CacheAPIs; what is there already may stay.
 */
export function virtualStorageErrors(
  { spec }: DeepReadonly<APIExport>,
  old: DeepReadonly<APIExport> | undefined,
  isBound: (resource: DeepReadonly<ExportedResource>) => boolean,
  isEnabled = true,
): FieldError[] {
  const path = FieldPath.of('spec', 'resources');
  return (spec?.resources ?? []).flatMap((resource, index) => {
    const at = path.index(index).child('storage');
    const before = old?.spec?.resources?.find(
      ({ name, group = '' }) => name === resource.name && group === (resource.group ?? ''),
    );
    const isNew =
      virtualStorageOf(resource) !== undefined && virtualStorageOf(before ?? { name: '', schema: '' }) === undefined;
    if (isNew && !isEnabled) return [fieldErrors.forbidden(at.child('virtual'), 'the feature gate CacheAPIs is off')];
    return [...referenceErrors(resource, at), ...switchErrors(resource, before, at, isBound)];
  });
}

function referenceErrors(resource: DeepReadonly<ExportedResource>, at: FieldPath): FieldError[] {
  const virtual = virtualStorageOf(resource);
  if (virtual === undefined) return [];
  const { apiGroup = '', kind, name } = virtual.reference;
  const reference = at.child('virtual').child('reference');
  const errors: FieldError[] = [];
  if (kind === '') errors.push(fieldErrors.required(reference.child('kind')));
  if (name === '') errors.push(fieldErrors.required(reference.child('name')));
  if (isSystemGroup(apiGroup) && apiGroup !== cachedResources.group) {
    const detail =
      'the kinds of this group are reserved for the system and are no endpoint slices of virtual resources';
    errors.push(fieldErrors.invalid(reference.child('apiGroup'), apiGroup, detail));
  }
  if (apiGroup === cachedResources.group && !cachedResourceEndpointSliceKinds.has(kind)) {
    const detail = 'must be CachedResourceEndpointSlice or ClusterCachedResourceEndpointSlice in group cache.kcp.io';
    errors.push(fieldErrors.invalid(reference.child('kind'), kind, detail));
  }
  return errors;
}

function switchErrors(
  resource: DeepReadonly<ExportedResource>,
  before: DeepReadonly<ExportedResource> | undefined,
  at: FieldPath,
  isBound: (resource: DeepReadonly<ExportedResource>) => boolean,
): FieldError[] {
  if (before === undefined) return [];
  const [now, then] = [virtualStorageOf(resource), virtualStorageOf(before)];
  if ((now === undefined) === (then === undefined)) return [];
  if (!isBound(before)) return [];
  const [from, to] = now === undefined ? ['virtual', 'crd'] : ['crd', 'virtual'];
  return [
    fieldErrors.forbidden(
      at,
      `must not be switched from ${from} to ${to} while the resource is bound by an APIBinding`,
    ),
  ];
}
