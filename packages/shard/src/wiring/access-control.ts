import type { ObjectClient } from '@multiplane/client';
import { shardAuthentication, type ShardAuthentication } from '../authentication/shard-authentication.ts';
import { shardAuthorization, type ShardAuthorization } from '../authorization/shard-authorization.ts';
import type { ShardOptions } from '../options.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';

export interface AccessControl {
  readonly authentication: ShardAuthentication;
  readonly authorization: ShardAuthorization;
}

interface Modules extends Infrastructure, ReadPath {
  /** Reads objects of logical clusters on other shards; undefined without `--external-logical-cluster-admin-kubeconfig`. */
  readonly externalClient: () => ObjectClient | undefined;
}

/** Authentication, then authorization. */
export function accessControl(options: ShardOptions, modules: Modules): AccessControl {
  const { clusters, localInformers, globalInformers, types, webhooks, externalClient } = modules;
  const authentication = shardAuthentication(options, {
    ...modules,
    informers: localInformers,
    remoteClient: (cluster) => (clusters.object(cluster) === undefined ? externalClient() : undefined),
    workspaces: {
      client: webhooks.client,
      globalInformers,
      types,
      logicalCluster: (cluster) => clusters.object(cluster),
    },
  });
  const authorization = shardAuthorization(options, { ...modules, informers: localInformers });
  return { authentication, authorization };
}
