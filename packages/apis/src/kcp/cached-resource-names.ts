import {
  isJsonObject,
  type DeepReadonly,
  type GroupResource,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, Strategy, VersionConverter } from '../resource-definition.ts';
import {
  cachedResourceEndpointSlices,
  cachedResources,
  type CachedResourceEndpointSlice,
  type ObjectPathReference,
} from './cached-resources.ts';
import { skipCachedResourceSliceAnnotation } from './default-slice.ts';

/*
 * kcp after v0.32 calls a CachedResource ClusterCachedResource. Both names are served, of the same stored objects: what is created by
 * one is read by the other. Storage, controllers, replication and virtual workspaces know the older name only.
 */

const newerPrefix = 'cluster';
const newerKindPrefix = 'Cluster';
/** The field of a slice that refers to the resource, by each name. */
const olderField = 'cachedResource';
const newerField = 'clusterCachedResource';

const isNamed = ({ group, resource }: GroupResource, wanted: GroupResource): boolean =>
  group === wanted.group && (resource === wanted.resource || resource === `${newerPrefix}${wanted.resource}`);

/** Whether a resource is that of CachedResources, by either name. */
export const isCachedResource = (resource: GroupResource): boolean => isNamed(resource, cachedResources);
/** Whether a resource is that of CachedResourceEndpointSlices, by either name. */
export const isCachedResourceSlice = (resource: GroupResource): boolean =>
  isNamed(resource, cachedResourceEndpointSlices);

/** What a slice refers to, in the form of either name. */
export function resourceReferenceOf({
  spec,
}: DeepReadonly<CachedResourceEndpointSlice>): DeepReadonly<ObjectPathReference> | undefined {
  return spec?.cachedResource ?? (spec as { readonly [newerField]?: ObjectPathReference } | undefined)?.[newerField];
}

const sliceConverter: VersionConverter = {
  toStorage: (object) => {
    renameField(object, newerField, olderField);
    renameReasons(object, newerReason, olderReason);
  },
  fromStorage: (object) => {
    renameField(object, olderField, newerField);
    renameReasons(object, olderReason, newerReason);
  },
};
/** The reason of a condition by each name. */
const [olderReason, newerReason] = ['CachedResourceNotFound', 'ClusterCachedResourceNotFound'];

function renameReasons({ status }: KubeObject, from: string, to: string): void {
  const conditions = isJsonObject(status) ? status['conditions'] : undefined;
  if (!Array.isArray(conditions)) return;
  for (const condition of conditions)
    if (isJsonObject(condition) && condition['reason'] === from) condition['reason'] = to;
}

const sameShape: VersionConverter = { toStorage: () => {}, fromStorage: () => {} };

/** Who owns the field is written with its name, too. */
function renameField(object: KubeObject, from: string, to: string): void {
  renameIn(object['spec'] as Json | undefined, from, to);
  const { managedFields = [] } = object.metadata as { readonly managedFields?: readonly Json[] };
  for (const entry of managedFields)
    if (isJsonObject(entry) && isJsonObject(entry['fieldsV1']))
      renameIn(entry['fieldsV1']['f:spec'], `f:${from}`, `f:${to}`);
}

function renameIn(fields: Json | undefined, from: string, to: string): void {
  if (!isJsonObject(fields)) return;
  const { [from]: value } = fields;
  if (value === undefined) return;
  delete fields[from];
  fields[to] = value;
}

/** The definitions of both names: those of the newer one get the storage of the other. */
export function withSharedStorage(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  const byResource = new Map(definitions.map((one) => [`${one.resource}.${one.group}`, one]));
  return definitions.map((definition) => {
    const { group, resource, kind, strategy } = definition;
    if (group !== cachedResources.group || !kind.startsWith(newerKindPrefix)) return definition;
    const older = byResource.get(`${resource.slice(newerPrefix.length)}.${group}`);
    if (older === undefined) return definition;
    return {
      ...definition,
      storage: older.storage,
      ...(isCachedResourceSlice(definition)
        ? { converter: sliceConverter }
        : { converter: sameShape, strategy: withoutDefaultSlice(strategy) }),
    };
  });
}

/** The provider makes the slice of a ClusterCachedResource. */
const withoutDefaultSlice = (strategy: Strategy): Strategy => ({
  ...strategy,
  prepareForCreate: (context, object) => {
    strategy.prepareForCreate(context, object);
    object.metadata.annotations = { [skipCachedResourceSliceAnnotation]: '', ...object.metadata.annotations };
  },
});
