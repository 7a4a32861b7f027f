import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
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
import { AuditedStep } from './audited-step.ts';
import { effectiveUsers } from './effective-users.ts';
import { RequiredGroupsAuthorizer } from './required-groups.ts';
import { ShardLevelAuthorizer } from './shard-level.ts';
import { SystemDefinitionsAuthorizer } from './system-definitions.ts';
import { AnonymisedReasons, WorkspaceContentAuthorizer } from './workspace-content.ts';

export interface ShardAuthorization {
  /** For requests. */
  readonly requests: Authorizer;
  /** For access reviews, impersonation and the checks of admission: the same answers. */
  readonly reviews: Authorizer;
  readonly rbac: RbacAuthorizer;
}

/** `AlwaysAllowGroups`, `AlwaysAllowPaths`, then RBAC behind what guards a workspace, outermost first (C7.7). */
export function shardAuthorization(
  options: { readonly alwaysAllowPaths: readonly string[] },
  modules: { readonly informers: InformerFactory; readonly clusters: LogicalClusterIndex },
): ShardAuthorization {
  const { informers, clusters } = modules;
  const rbac = new RbacAuthorizer(
    { bootstrapCluster: systemAdminCluster },
    { source: new RbacSource({ informers }), effectiveUsers },
  );
  const logicalCluster = (cluster: LogicalClusterName): DeepReadonly<KubeObject> | undefined =>
    clusters.object(cluster);
  const step = (key: string, delegate: Authorizer): Authorizer => new AuditedStep({ key }, { delegate });
  const local = step('05-local', rbac);
  const definitions = step('03-systemcrd', new SystemDefinitionsAuthorizer({ delegate: local }));
  const content = step('02-content', new WorkspaceContentAuthorizer({ rbac, logicalCluster, delegate: definitions }));
  const workspaces = step('01-requiredgroups', new RequiredGroupsAuthorizer({ logicalCluster, delegate: content }));
  const authorizer = new UnionAuthorizer({
    authorizers: [
      new PrivilegedGroupAuthorizer(),
      new AlwaysAllowPathsAuthorizer({ paths: options.alwaysAllowPaths }),
      new AnonymisedReasons({ delegate: new ShardLevelAuthorizer({ rbac, delegate: workspaces }) }),
    ],
  });
  return { requests: authorizer, reviews: authorizer, rbac };
}
