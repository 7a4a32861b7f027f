import { pathAnnotation, statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';

/** Kinds that other workspaces refer to by path and name. */
const alwaysAnnotated = new Set([
  'apiexports.apis.kcp.io',
  'apibindings.apis.kcp.io',
  'cachedresources.cache.kcp.io',
  'clustercachedresources.cache.kcp.io',
  'workspacetypes.tenancy.kcp.io',
]);

/**
 * Sets the annotation `kcp.io/path` to the canonical path of the logical cluster (kcp `pkg/admission/pathannotation`). Objects
 * are looked up by it, so clients cannot choose it. On a LogicalCluster the annotation is the source of the path and is left
 * alone.
 */
export class PathAnnotation implements AdmissionPlugin {
  readonly name = 'kcp.io/PathAnnotation';
  readonly #pathOf: (cluster: LogicalClusterName) => string | undefined;
  constructor(modules: { readonly pathOf: (cluster: LogicalClusterName) => string | undefined }) {
    this.#pathOf = modules.pathOf;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  admit(attributes: AdmissionAttributes): undefined {
    const { object } = attributes;
    if (object === undefined || !isFound(attributes)) return;
    const path = this.#path(attributes.cluster);
    if (object.metadata.annotations?.[pathAnnotation] === path) return;
    object.metadata.annotations = { ...object.metadata.annotations, [pathAnnotation]: path };
  }

  validate(attributes: AdmissionAttributes): undefined {
    const { object, definition } = attributes;
    if (object === undefined || !isFound(attributes)) return;
    const path = this.#path(attributes.cluster);
    const given = object.metadata.annotations?.[pathAnnotation] ?? '';
    if (given === path) return;
    const name = object.metadata.name ?? '';
    throw statusErrors.forbidden(
      definition,
      name,
      `annotation for ${name}, "${pathAnnotation}" must match canonical path "${path}", but got "${given}"`,
    );
  }

  #path(cluster: LogicalClusterName): string {
    return this.#pathOf(cluster) ?? cluster;
  }
}

function isFound({ definition: { group, resource }, object, subresource }: AdmissionAttributes): boolean {
  if (subresource !== '') return false;
  const isAnnotated = object?.metadata.annotations?.[pathAnnotation] !== undefined;
  if (isAnnotated && !isLogicalCluster(group, resource)) return true;
  // The group is compared first: most writes are of other groups and need no string concatenation.
  return group.endsWith('.kcp.io') && alwaysAnnotated.has(`${resource}.${group}`);
}

const isLogicalCluster = (group: string, resource: string): boolean =>
  group === 'core.kcp.io' && resource === 'logicalclusters';
