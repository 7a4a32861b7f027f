import { type LogicalClusterName, wildcardCluster } from '@multiplane/apimachinery';

/**
 * Layout of keys, as in kcp:
 *
 *   /registry/<group|core>/<resource>/<cluster>/[<namespace>/]<name>                        built-in kinds
 *   /registry/<group>/<resource>/customresources/<cluster>/[<namespace>/]<name>             objects of a CRD
 *   /registry/<group>/<resource>/<identity hash>/<cluster>/[<namespace>/]<name>             objects of a bound schema
 *
 * A resource prefix is the part before the cluster, including the `/`.
 */
export const registryPrefix = '/registry/';
export const customResourcesSegment = 'customresources';

const coreSegment = (group: string): string => (group === '' ? 'core' : group);

/** Prefix of a built-in kind. */
export function builtInPrefix(group: string, resource: string): string {
  return `${registryPrefix}${coreSegment(group)}/${resource}/`;
}

/** Prefix of the objects of a CRD, or of a bound schema when an identity is given. */
export function customResourcePrefix(group: string, resource: string, identity = customResourcesSegment): string {
  return `${registryPrefix}${coreSegment(group)}/${resource}/${identity}/`;
}

/** Location of an object below its resource prefix. Names are validated by the caller; a slash in one is a bug. */
export interface ObjectLocation {
  readonly cluster: LogicalClusterName;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** Whether an object can have this location. Paths of clients and references in objects may name others. */
export const hasObjectKey = ({ cluster, namespace, name }: ObjectLocation): boolean =>
  cluster !== '' &&
  (cluster as string) !== wildcardCluster &&
  name !== '' &&
  ![cluster, namespace, name].some((part) => part.includes('/') || part === '.' || part === '..');

/** The key of an object. Throws a TypeError for parts that would change the layout of the key. */
export function objectKey(resourcePrefix: string, location: ObjectLocation): string {
  const { cluster, namespace, name } = location;
  for (const part of [cluster, namespace, name]) {
    if (part.includes('/') || part === '.' || part === '..')
      throw new TypeError(`invalid key segment: ${JSON.stringify(part)}`);
  }
  if (name === '' || cluster === '' || (cluster as string) === wildcardCluster)
    throw new TypeError('a key requires a cluster and a name');
  return namespace === '' ? `${resourcePrefix}${cluster}/${name}` : `${resourcePrefix}${cluster}/${namespace}/${name}`;
}

/** Prefix of a list over all logical clusters, one logical cluster, or one namespace of it. */
export function listPrefix(
  resourcePrefix: string,
  cluster: LogicalClusterName | typeof wildcardCluster,
  namespace = '',
): string {
  if (cluster === wildcardCluster) return resourcePrefix;
  return namespace === '' ? `${resourcePrefix}${cluster}/` : `${resourcePrefix}${cluster}/${namespace}/`;
}

/** Parses a key below a resource prefix; undefined when it does not match the layout. */
export function parseObjectKey(resourcePrefix: string, key: string): ObjectLocation | undefined {
  if (!key.startsWith(resourcePrefix)) return undefined;
  const parts = key.slice(resourcePrefix.length).split('/');
  if (parts.length === 2) return { cluster: parts[0] as LogicalClusterName, namespace: '', name: parts[1] as string };
  if (parts.length === 3)
    return { cluster: parts[0] as LogicalClusterName, namespace: parts[1] as string, name: parts[2] as string };
  return undefined;
}
