import {
  clusterAnnotation,
  formatTime,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  boundDefinitionsCluster,
  lockName,
  locksOf,
  rootExportOf,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { APIBindingStatus } from '../apis/api-binding-status.ts';
import { computeBoundStatus, type OfferedResource } from '../apis/bound-status.ts';
import { namingConflict, noNameOwners } from '../apis/naming-conflict.ts';

export interface PrecomputeModules {
  readonly informers: InformerSource;
  /** An APIResourceSchema of any shard. */
  readonly schema: (cluster: LogicalClusterName, name: string) => DeepReadonly<APIResourceSchema> | undefined;
}

/**
 * The status that the APIBinding controller would give a new binding, so that the binding can be created with it and a new
 * workspace needs one write per default binding. Undefined if a reconcile has work to do: the export has no identity or
 * has permission claims, a schema is missing or not served on this shard, or a name is not locked for this binding.
 */
export function precomputeBoundStatus(
  binding: APIBinding,
  apiExport: DeepReadonly<APIExport>,
  logicalCluster: DeepReadonly<KubeObject>,
  modules: PrecomputeModules,
  now: Date,
): APIBindingStatus | undefined {
  const { metadata, spec, status } = apiExport;
  const exportCluster = metadata.annotations?.[clusterAnnotation] as LogicalClusterName | undefined;
  if ((status?.identityHash ?? '') === '' || exportCluster === undefined || metadata.deletionTimestamp !== undefined)
    return undefined;
  if ((spec?.permissionClaims ?? []).length > 0 || (binding.spec?.permissionClaims ?? []).length > 0) return undefined;
  const locks = locksOf(logicalCluster);
  const name = binding.metadata.name ?? '';
  const resources: OfferedResource[] = [];
  const groups = new Set<string>();
  for (const exported of spec?.resources ?? []) {
    const { name: resource, group = '', schema: schemaName, storage } = exported;
    if (storage?.virtual !== undefined) return undefined;
    const schema = modules.schema(exportCluster, schemaName);
    if (schema === undefined) return undefined;
    const isBuiltIn = exportCluster === 'root' && rootExportOf(group, resource) === metadata.name;
    if (!isBuiltIn && !isServed(schema.metadata.uid ?? '', modules.informers)) return undefined;
    if (locks.get(lockName({ group, resource }))?.n !== name) return undefined;
    resources.push({ exported, schema });
    groups.add(schema.spec?.group ?? '');
  }
  // Kinds of another binding in the same group may conflict with these names: the reconciler compares them.
  for (const [lock, { n }] of locks) if (n !== name && groups.has(groupOf(lock))) return undefined;
  return statusFor(apiExport, resources, now);
}

interface CachedStatus {
  readonly resources: readonly OfferedResource[];
  readonly time: string;
  readonly status: APIBindingStatus | undefined;
}

/** Bindings to one export get equal statuses within a second; many workspaces are created in that time. */
const cache = new WeakMap<DeepReadonly<APIExport>, CachedStatus>();

/** Shared by callers, so not to be changed. Undefined if a schema conflicts with a built-in kind or has no storage version. */
function statusFor(
  apiExport: DeepReadonly<APIExport>,
  resources: readonly OfferedResource[],
  now: Date,
): APIBindingStatus | undefined {
  const time = formatTime(now);
  const cached = cache.get(apiExport);
  if (cached?.time === time && resources.every(({ schema }, index) => schema === cached.resources[index]?.schema))
    return cached.status;
  const status = computeStatus(apiExport, resources, now);
  cache.set(apiExport, { resources, time, status });
  return status;
}

function computeStatus(
  apiExport: DeepReadonly<APIExport>,
  resources: readonly OfferedResource[],
  now: Date,
): APIBindingStatus | undefined {
  if (resources.some(({ schema }) => namingConflict(schema, noNameOwners) !== undefined)) return undefined;
  const { status, pending } = computeBoundStatus({
    apiExport,
    resources,
    // A served definition stores what its schema says, from its creation on.
    storedVersions: (schema) => {
      const storageVersion = schema.spec?.versions.find(({ storage }) => storage)?.name;
      return storageVersion === undefined ? undefined : [storageVersion];
    },
    current: undefined,
    acceptedClaims: undefined,
    heldByOthers: new Map(),
    now,
  });
  return pending.length === 0 ? status : undefined;
}

/** The group in the name of a lock. */
const groupOf = (lock: string): string => (lock.includes('.') ? lock.slice(lock.indexOf('.') + 1) : '');

function isServed(uid: string, informers: InformerSource): boolean {
  const definition = informers
    .informer<CustomResourceDefinition>(crds)
    .get({ cluster: boundDefinitionsCluster as LogicalClusterName, namespace: '', name: uid });
  return definition !== undefined && definition.metadata.deletionTimestamp === undefined && isEstablished(definition);
}
