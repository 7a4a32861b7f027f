import { statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerFactory } from '@multiplane/client';
import { isMarkedInactive, logicalClusters, type LogicalCluster } from '@multiplane/controllers';
import { type Draining, type Filter, type RequestInfo, writeStatusError } from '@multiplane/generic-server';
import type { LogicalClusterIndex } from './logical-cluster-index.ts';

class DeletedError extends Error {
  override readonly name = 'DeletedError';
  constructor(cluster: LogicalClusterName) {
    super(`logical cluster ${cluster} was deleted`);
  }
}

class InactiveError extends Error {
  override readonly name = 'InactiveError';
  constructor(cluster: LogicalClusterName) {
    super(`logical cluster ${cluster} was marked inactive`);
  }
}

/**
 * Rejects requests to logical clusters that are marked inactive before authentication, and ends their watches (kcp
 * `pkg/server/filters/inactivelogicalcluster.go`). Wildcard watches end as well, so that their clients list again without the
 * cluster; informers in this process follow the cache and continue. Watches in a deleted logical cluster also end.
 */
export class InactiveClusters {
  readonly #clusters: LogicalClusterIndex;
  constructor(modules: {
    readonly clusters: LogicalClusterIndex;
    readonly informers: InformerFactory;
    readonly draining: Draining;
  }) {
    const { clusters, informers, draining } = modules;
    this.#clusters = clusters;
    informers.informer<LogicalCluster>(logicalClusters).addHandlers({
      updated: (object, old, { cluster }) => {
        if (!isMarkedInactive(object) || isMarkedInactive(old)) return;
        for (const ended of [cluster, '*'] as const)
          draining.end(ended, (info) => !isExempt(info), new InactiveError(cluster));
      },
      deleted: (_old, { cluster }) => draining.end(cluster, (info) => !isExempt(info), new DeletedError(cluster)),
      onlyInvalidates: true,
    });
  }

  isInactive(cluster: LogicalClusterName): boolean {
    const object = this.#clusters.object(cluster);
    return object !== undefined && isMarkedInactive(object);
  }

  readonly filter: Filter = (next) => (context) => {
    const { info } = context;
    const { cluster } = info;
    if (cluster === undefined || cluster === '*' || isExempt(info) || !this.isInactive(cluster)) return next(context);
    const about = { group: logicalClusters.group, resource: logicalClusters.resource };
    writeStatusError(context, statusErrors.forbidden(about, cluster, 'logical cluster is marked inactive'));
    return Promise.resolve();
  };
}

/** The LogicalCluster itself, so that the mark can be removed, and OpenAPI documents. */
function isExempt(info: RequestInfo): boolean {
  return (
    (info.group === logicalClusters.group && info.resource === logicalClusters.resource) ||
    info.path === '/openapi' ||
    info.path.startsWith('/openapi/')
  );
}
