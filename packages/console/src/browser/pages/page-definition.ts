import type { ComponentType } from 'react';
import type { IconName } from '../components/icon.tsx';

/** A page of the console: one folder below `pages/`, loaded when it is first opened. */
export interface PageDefinition {
  readonly id: string;
  /** `workspace`: below `/w/<path of the workspace>/`; `global`: below `/`. */
  readonly scope: 'workspace' | 'global';
  /** A path of React Router. */
  readonly path: string;
  /** Its place in the side navigation; pages without one are reached from others. */
  readonly navigation?: { readonly title: string; readonly icon: IconName };
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
}

/** The URL of a page of a workspace. */
export const workspaceUrl = (cluster: string, path = 'workspaces'): string => `/w/${cluster}/${path}`;

interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The core group has no name; a path needs one. */
export const coreGroup = 'core';

/** The URL of the list of a resource in a workspace. */
export const resourceUrl = (cluster: string, { group, version, resource }: ResourceName): string =>
  workspaceUrl(cluster, `resources/${group === '' ? coreGroup : group}/${version}/${resource}`);

/** The URL of an object. */
export function objectUrl(cluster: string, resource: ResourceName, name: string, namespace?: string): string {
  const query = namespace === undefined ? '' : `?namespace=${encodeURIComponent(namespace)}`;
  return `${resourceUrl(cluster, resource)}/${encodeURIComponent(name)}${query}`;
}
