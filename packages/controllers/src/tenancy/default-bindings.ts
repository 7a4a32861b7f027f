import { base62Sha224, clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import { lockName, type APIBinding, type APIExport, type ResourceLocks } from '@multiplane/apis';
import { AmbiguousPathError, type PathAndNameLookup } from '@multiplane/client';
import type { WorkspaceType } from './kinds.ts';

/** Finds an APIExport of any shard by where it lives. */
export type Exports = Pick<PathAndNameLookup<APIExport>, 'byPathAndName'>;

/** An export that workspaces of a type begin with. */
export interface DefaultExport {
  readonly path: string;
  readonly name: string;
  /** Kept up as the type and the export change, not only made at the beginning (C5.7). */
  readonly maintained: boolean;
}

/** What is left of an export's name in a binding's, so that both parts fit into a name. */
const maxExportPrefix = 253 - 1 - 5;

/** The default exports of a type and what it extends, each once, in the order of the types (C5.6). */
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

/** What the binding of a default export is called in a logical cluster (C5.6). */
export function defaultBindingName(
  cluster: LogicalClusterName,
  { path, name }: Pick<DefaultExport, 'path' | 'name'>,
): string {
  const hash = base62Sha224(`${cluster}|${path}|${name}`).slice(0, 5).toLowerCase();
  return `${name.slice(0, maxExportPrefix)}-${hash}`;
}

/** The binding of a default export under its name: everything that the export asks for is given. */
export function defaultBinding(
  name: string,
  wanted: DefaultExport,
  { spec }: DeepReadonly<APIExport>,
): APIBinding & { readonly spec: NonNullable<APIBinding['spec']> } {
  const claims = (spec?.permissionClaims ?? []).map(({ defaultSelector, ...claim }) => ({
    ...structuredClone(claim as typeof claim & { verbs: string[] }),
    selector: structuredClone(defaultSelector ?? { matchAll: true }) as { matchAll?: boolean },
    state: 'Accepted' as const,
  }));
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
 * The names of resources that the default bindings of a new logical cluster will take (C2.4). They are taken with the
 * logical cluster itself, before anybody else can come in; the first of two exports with the same resource has it.
 */
export function defaultLocks(
  cluster: LogicalClusterName,
  closure: readonly DeepReadonly<WorkspaceType>[],
  exports: Exports,
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

/** None where the export is not to be found: whoever makes the binding sees to it. */
function resourcesOf(
  exports: Exports,
  { path, name }: DefaultExport,
): DeepReadonly<NonNullable<NonNullable<APIExport['spec']>['resources']>> {
  try {
    return exports.byPathAndName(path, name)?.spec?.resources ?? [];
  } catch (error) {
    if (error instanceof AmbiguousPathError) return [];
    throw error;
  }
}
