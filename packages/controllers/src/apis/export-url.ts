import type { LogicalClusterName } from '@multiplane/apimachinery';

/** Where the view of an export is served, below a shard's URL for virtual workspaces (C5.14). */
export const exportUrl = (base: string, cluster: LogicalClusterName, name: string): string =>
  `${base.replace(/\/+$/, '')}/services/apiexport/${cluster}/${name}`;
