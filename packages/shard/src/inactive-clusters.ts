import { statusErrors, type LogicalClusterName } from '@multiplane/apimachinery';
import { writeStatusError, type Draining, type Filter, type RequestInfo } from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import { isMarkedInactive, logicalClusters, type LogicalCluster } from '@multiplane/controllers';
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
 * Keeps everybody out of logical clusters that are marked inactive (C1.5 item 9): requests are refused before anybody
 * asks who is calling, and watches that run there end. Watches over all logical clusters go on: the reference ends those
 * of everybody, its own controllers included. Watches in a logical cluster that is deleted end as well: nothing will ever
 * happen there.
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
        draining.end(cluster, (info) => !isExempt(info), new InactiveError(cluster));
      },
      deleted: (_old, { cluster }) => draining.end(cluster, (info) => !isExempt(info), new DeletedError(cluster)),
      onlyForgets: true,
    });
  }

  readonly filter: Filter = (next) => (context) => {
    const { info } = context;
    const { cluster } = info;
    if (cluster === undefined || cluster === '*' || isExempt(info)) return next(context);
    const object = this.#clusters.object(cluster);
    if (object === undefined || !isMarkedInactive(object)) return next(context);
    const about = { group: logicalClusters.group, resource: logicalClusters.resource };
    writeStatusError(context, statusErrors.forbidden(about, cluster, 'logical cluster is marked inactive'));
    return Promise.resolve();
  };
}

/** The object itself, so that the mark can be taken off again, and documents about all kinds. */
function isExempt(info: RequestInfo): boolean {
  return (
    (info.group === logicalClusters.group && info.resource === logicalClusters.resource) ||
    info.path === '/openapi' ||
    info.path.startsWith('/openapi/')
  );
}
