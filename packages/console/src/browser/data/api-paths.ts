/** A resource in a workspace, as its URLs name it. */
export interface ResourceAddress {
  /** The path or the name of the logical cluster. */
  readonly cluster: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly resource: string;
  readonly namespace?: string | undefined;
}

/** One part of a path. A colon stands for itself: paths of workspaces and names of roles are full of them. */
const segment = (text: string): string => encodeURIComponent(text).replaceAll('%3A', ':');

/** The API of a workspace, below `/console/`. */
export const clusterPath = (cluster: string): string => `proxy/clusters/${segment(cluster)}`;

const groupVersionPath = (cluster: string, group: string, version: string): string =>
  `${clusterPath(cluster)}/${group === '' ? 'api' : `apis/${segment(group)}`}/${segment(version)}`;

export function collectionPath({ cluster, group, version, resource, namespace }: ResourceAddress): string {
  const base = groupVersionPath(cluster, group, version);
  const scope = namespace === undefined || namespace === '' ? '' : `/namespaces/${segment(namespace)}`;
  return `${base}${scope}/${segment(resource)}`;
}

export const objectPath = (address: ResourceAddress, name: string, subresource?: string): string =>
  `${collectionPath(address)}/${segment(name)}${subresource === undefined ? '' : `/${subresource}`}`;
