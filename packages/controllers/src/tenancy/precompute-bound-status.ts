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
  type BoundResource,
  type ExportedResource,
} from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { boundResourceOf, boundStatus } from '../apis/binding-status.ts';
import { namingConflict, noTakenNames } from '../apis/naming-conflict.ts';
import { setKcpCondition } from './kcp-conditions.ts';

/** What the controller of claims says of a binding that has none (C5.12). */
const ofClaims = ['PermissionClaimsApplied', 'PermissionClaimsValid'];

export interface BoundAtOnceModules {
  readonly informers: InformerSource;
  /** An APIResourceSchema of any shard. */
  readonly schema: (cluster: LogicalClusterName, name: string) => DeepReadonly<APIResourceSchema> | undefined;
}

/**
 * The status with which a binding is complete from its first moment; undefined where something has to be done first, and
 * the controller of bindings goes its way (C5.11). It would come to the same: the export has an identity, its schemas
 * exist, are served on this shard already, and the logical cluster keeps their names for this binding. Saves a new
 * workspace most of the writes that its default bindings would cost.
 */
export function boundAtOnce(
  binding: APIBinding,
  exported: DeepReadonly<APIExport>,
  logicalCluster: DeepReadonly<KubeObject>,
  modules: BoundAtOnceModules,
  now: Date,
): NonNullable<APIBinding['status']> | undefined {
  const { metadata, spec, status } = exported;
  const exportCluster = metadata.annotations?.[clusterAnnotation] as LogicalClusterName | undefined;
  if ((status?.identityHash ?? '') === '' || exportCluster === undefined || metadata.deletionTimestamp !== undefined)
    return undefined;
  if ((spec?.permissionClaims ?? []).length > 0 || (binding.spec?.permissionClaims ?? []).length > 0) return undefined;
  const locks = locksOf(logicalCluster);
  const own = binding.metadata.name ?? '';
  const schemas: DeepReadonly<APIResourceSchema>[] = [];
  // Other bindings with kinds in the same group may name them alike, which their controller has to look into.
  const groups = new Set<string>();
  for (const { name, group = '', schema: schemaName, storage } of spec?.resources ?? []) {
    if (storage?.virtual !== undefined) return undefined;
    const schema = modules.schema(exportCluster, schemaName);
    if (schema === undefined) return undefined;
    const isCompiled = exportCluster === 'root' && rootExportOf(group, name) === metadata.name;
    if (!isCompiled && !isServed(schema.metadata.uid ?? '', modules.informers)) return undefined;
    if (locks.get(lockName({ group, resource: name }))?.n !== own) return undefined;
    schemas.push(schema);
    groups.add(schema.spec?.group ?? '');
  }
  for (const [name, { n }] of locks) if (n !== own && groups.has(groupOf(name))) return undefined;
  return statusOf(exported, schemas, now);
}

type Status = NonNullable<APIBinding['status']>;

interface Told {
  readonly schemas: readonly DeepReadonly<APIResourceSchema>[];
  readonly time: string;
  readonly status: Status | undefined;
}
/** Many workspaces begin in one second, and their bindings of an export are told the same. */
const told = new WeakMap<DeepReadonly<APIExport>, Told>();

/** To be written, not changed. Undefined: a schema cannot be bound beside the others. */
function statusOf(
  exported: DeepReadonly<APIExport>,
  schemas: readonly DeepReadonly<APIResourceSchema>[],
  now: Date,
): Status | undefined {
  const time = formatTime(now);
  const known = told.get(exported);
  if (known?.time === time && schemas.every((schema, index) => schema === known.schemas[index])) return known.status;
  const status = makeStatus(exported, schemas, now);
  told.set(exported, { schemas, time, status });
  return status;
}

function makeStatus(
  exported: DeepReadonly<APIExport>,
  schemas: readonly DeepReadonly<APIResourceSchema>[],
  now: Date,
): Status | undefined {
  const resources: BoundResource[] = [];
  for (const [index, schema] of schemas.entries()) {
    const storageVersion = schema.spec?.versions.find(({ storage }) => storage)?.name;
    if (storageVersion === undefined || namingConflict(schema, noTakenNames) !== undefined) return undefined;
    const resource = exported.spec?.resources?.[index] as DeepReadonly<ExportedResource>;
    resources.push(boundResourceOf(exported, resource, schema, [storageVersion]));
  }
  const bound = boundStatus(exported, resources, now);
  let { conditions } = bound;
  for (const type of ofClaims) conditions = setKcpCondition(conditions, { type, status: 'True' }, now);
  return { ...bound, conditions: conditions as NonNullable<typeof conditions> };
}

/** Of a name as locks have it. */
const groupOf = (name: string): string => (name.includes('.') ? name.slice(name.indexOf('.') + 1) : '');

function isServed(uid: string, informers: InformerSource): boolean {
  const definition = informers
    .informer<CustomResourceDefinition>(crds)
    .get({ cluster: boundDefinitionsCluster as LogicalClusterName, namespace: '', name: uid });
  return definition !== undefined && definition.metadata.deletionTimestamp === undefined && isEstablished(definition);
}
