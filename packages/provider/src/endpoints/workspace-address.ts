import type { LogicalClusterName } from '@multiplane/apimachinery';

/** A workspace as a kubeconfig names it. */
export interface WorkspaceAddress {
  readonly origin: string;
  /** What precedes `/clusters/` in paths. */
  readonly pathPrefix: string;
  /** Path or logical cluster of the workspace: requests accept both. */
  readonly cluster: LogicalClusterName;
}

/** Throws when the URL of the server does not end with a workspace. */
export function workspaceAddressOf(server: string): WorkspaceAddress {
  const { origin, pathname } = new URL(server);
  const [, pathPrefix = '', cluster] = /^(.*)\/clusters\/([^/]+)\/?$/.exec(pathname) ?? [];
  if (cluster === undefined || cluster === '*')
    throw new Error(
      `the server ${server} is not the workspace of a provider: its URL must end with /clusters/<workspace>`,
    );
  return { origin, pathPrefix, cluster: decodeURIComponent(cluster) as LogicalClusterName };
}
