import type { Clock, Logger } from '@multiplane/component-base';
import { type AuditOptions, auditFromOptions } from '@multiplane/generic-server';
import type { LogicalClusterIndex } from '../logical-cluster-index.ts';

/** Auditing with kcp's annotations of the logical cluster; undefined without an audit policy. */
export function shardAudit(
  options: AuditOptions,
  modules: {
    readonly clusters: LogicalClusterIndex;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly writeOut: (text: string) => void;
  },
): ReturnType<typeof auditFromOptions> {
  const { clusters, ...others } = modules;
  return auditFromOptions(options, {
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
