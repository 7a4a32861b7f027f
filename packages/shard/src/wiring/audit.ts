import { configuredAudit, type AuditOptions } from '@multiplane/apiserver';
import type { Clock, Logger } from '@multiplane/component-base';
import type { LogicalClusterIndex } from '../logical-cluster-index.ts';

/** The audit of a shard as its flags say, with what kcp tells of each request (C14.3); undefined without a policy. */
export function shardAudit(
  options: AuditOptions,
  modules: {
    readonly clusters: LogicalClusterIndex;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly writeOut: (text: string) => void;
  },
): ReturnType<typeof configuredAudit> {
  const { clusters, ...others } = modules;
  return configuredAudit(options, {
    ...others,
    annotationsOf: ({ info: { cluster } }): Record<string, string> =>
      cluster === undefined || cluster === '*'
        ? {}
        : {
            'kcp.io/path': clusters.pathOf(cluster) ?? cluster,
            'tenancy.kcp.io/workspace': cluster,
            'kcp.io/cluster': cluster,
          },
  });
}
