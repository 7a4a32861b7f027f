import type { LogicalClusterName } from '@multiplane/apimachinery';

/** URL of an APIExport virtual workspace; `base` is the virtual workspace URL of a shard. */
export const exportUrl = (base: string, cluster: LogicalClusterName, name: string): string =>
  `${base.replace(/\/+$/, '')}/services/apiexport/${cluster}/${name}`;
