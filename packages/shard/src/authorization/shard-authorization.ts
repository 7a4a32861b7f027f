import {
  AlwaysAllowPathsAuthorizer,
  PrivilegedGroupAuthorizer,
  RbacAuthorizer,
  RbacSource,
  UnionAuthorizer,
  type Authorizer,
} from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import { systemAdminCluster, type LogicalClusterIndex } from '../logical-cluster-index.ts';
import { effectiveUsers } from './effective-users.ts';
import { AnonymisedReasons, WorkspaceContentAuthorizer } from './workspace-content.ts';

export interface ShardAuthorization {
  /** For requests: refusals say `access denied` and no more. */
  readonly requests: Authorizer;
  /** For access reviews and the checks of admission. */
  readonly reviews: Authorizer;
  readonly rbac: RbacAuthorizer;
}

/** `AlwaysAllowGroups`, `AlwaysAllowPaths`, RBAC behind the check of who may enter a workspace (C7.7). */
export function shardAuthorization(
  options: { readonly alwaysAllowPaths: readonly string[] },
  modules: { readonly informers: InformerFactory; readonly clusters: LogicalClusterIndex },
): ShardAuthorization {
  const { informers, clusters } = modules;
  const rbac = new RbacAuthorizer(
    { bootstrapCluster: systemAdminCluster },
    { source: new RbacSource({ informers }), effectiveUsers },
  );
  const content = new WorkspaceContentAuthorizer({
    rbac,
    delegate: rbac,
    logicalCluster: (cluster) => clusters.object(cluster),
  });
  const first = [new PrivilegedGroupAuthorizer(), new AlwaysAllowPathsAuthorizer({ paths: options.alwaysAllowPaths })];
  const union = (last: Authorizer): Authorizer => new UnionAuthorizer({ authorizers: [...first, last] });
  return {
    requests: union(new AnonymisedReasons({ text: 'access denied' }, { delegate: content })),
    reviews: union(new AnonymisedReasons({ text: '' }, { delegate: content })),
    rbac,
  };
}
