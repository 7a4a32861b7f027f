import { base62Sha224, clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import { lockName, type APIBinding, type APIExport, type PermissionClaim, type ResourceLocks } from '@multiplane/apis';
import { AmbiguousPathError, type PathAndNameLookup } from '@multiplane/client';
import type { WorkspaceType } from './kinds.ts';

/** Finds an APIExport of any shard by path and name. */
export type ExportLookup = Pick<PathAndNameLookup<APIExport>, 'byPathAndName'>;

/** An APIExport that workspaces of a type are bound to by default. */
export interface DefaultExport {
  readonly path: string;
  readonly name: string;
  /** Whether the binding follows changes of type and export (`defaultAPIBindingLifecycle: Maintain`). */
  readonly maintained: boolean;
}

/** Characters of the export's name in the name of a binding, before a dash and five characters of hash. */
const maxExportPrefix = 253 - 1 - 5;

/** The default exports of the types, each once, in the order of the types. */
export function defaultExportsOf(closure: readonly DeepReadonly<WorkspaceType>[]): DefaultExport[] {
  const exports = new Map<string, DefaultExport>();
  for (const { metadata, spec } of closure) {
    for (const { path: given, export: name } of spec?.defaultAPIBindings ?? []) {
      const path = given === undefined || given === '' ? (metadata.annotations?.[clusterAnnotation] ?? '') : given;
      const maintained = spec?.defaultAPIBindingLifecycle === 'Maintain';
      const key = `${path}|${name}`;
      exports.set(key, { path, name, maintained: maintained || exports.get(key)?.maintained === true });
    }
  }
  return [...exports.values()];
}

/** The name of the binding to a default export, as in kcp. */
export function defaultBindingName(
  cluster: LogicalClusterName,
  { path, name }: Pick<DefaultExport, 'path' | 'name'>,
): string {
  const hash = base62Sha224(`${cluster}|${path}|${name}`).slice(0, 5).toLowerCase();
  return `${name.slice(0, maxExportPrefix)}-${hash}`;
}

/** The binding to a default export. Accepts all permission claims of the export. */
export function defaultBinding(
  name: string,
  wanted: DefaultExport,
  { spec }: DeepReadonly<APIExport>,
): APIBinding & { readonly spec: NonNullable<APIBinding['spec']> } {
  const claims = structuredClone((spec?.permissionClaims ?? []) as PermissionClaim[]).map(
    ({ defaultSelector, ...claim }) => ({
      ...claim,
      selector: defaultSelector ?? { matchAll: true },
      state: 'Accepted' as const,
    }),
  );
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: {
      reference: { export: { path: wanted.path, name: wanted.name } },
      ...(claims.length === 0 ? {} : { permissionClaims: claims }),
    },
  };
}

/**
 * The locks of the default bindings of a new logical cluster. The logical cluster is created with them, so that no other
 * binding or CRD gets the names; of two exports with the same resource the first gets it.
 */
export function defaultLocks(
  cluster: LogicalClusterName,
  closure: readonly DeepReadonly<WorkspaceType>[],
  exports: ExportLookup,
): ResourceLocks {
  const locks: ResourceLocks = new Map();
  for (const wanted of defaultExportsOf(closure)) {
    const binding = defaultBindingName(cluster, wanted);
    for (const { name, group = '' } of resourcesOf(exports, wanted)) {
      const lock = lockName({ group, resource: name });
      if (!locks.has(lock)) locks.set(lock, { n: binding });
    }
  }
  return locks;
}

/** Empty if the export is not found or ambiguous, which is reported when the binding is created. */
function resourcesOf(
  exports: ExportLookup,
  { path, name }: DefaultExport,
): DeepReadonly<NonNullable<NonNullable<APIExport['spec']>['resources']>> {
  try {
    return exports.byPathAndName(path, name)?.spec?.resources ?? [];
  } catch (error) {
    if (error instanceof AmbiguousPathError) return [];
    throw error;
  }
}
