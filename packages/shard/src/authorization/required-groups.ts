import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { requiredGroupsAnnotation } from '@multiplane/controllers';
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  isServiceAccount,
} from '@multiplane/generic-server';
import { countsAsMember } from './effective-users.ts';

/** Group of the identity with which shards create logical clusters on other shards. */
export const logicalClusterAdminGroup = 'system:kcp:logical-cluster-admin';
/** Group of the identity with which shards access logical clusters of other shards through the front-proxy. */
export const externalLogicalClusterAdminGroup = 'system:kcp:external-logical-cluster-admin';
const alwaysAdmitted = ['system:kcp:admin', 'system:kcp:tenancy:workspace-bootstrapper'];

/**
 * Denies users that are not members of the groups in the required-groups annotation of the logical cluster, before any RBAC
 * (kcp `pkg/authorization/requiredgroups_authorizer.go`). ServiceAccounts and administrators of the control plane are exempt.
 */
export class RequiredGroupsAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  readonly #logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  constructor(modules: {
    readonly delegate: Authorizer;
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  }) {
    this.#delegate = modules.delegate;
    this.#logicalCluster = modules.logicalCluster;
  }

  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster, user, deep } = attributes;
    if (deep === true) return this.#delegate.authorize(attributes);
    if (cluster === undefined || cluster === '*')
      return Promise.resolve({ decision: 'noOpinion', reason: 'empty cluster name' });
    if (isServiceAccount(user) || countsAsMember(user, cluster, [logicalClusterAdminGroup]))
      return this.#delegate.authorize(attributes);
    // System logical clusters have no LogicalCluster object; the delegate decides.
    if (cluster.startsWith('system:')) return this.#delegate.authorize(attributes);
    const object = this.#logicalCluster(cluster);
    if (object === undefined) return Promise.resolve({ decision: 'noOpinion', reason: 'logical cluster not found' });
    const required = object.metadata.annotations?.[requiredGroupsAnnotation];
    if (required === undefined || countsAsMember(user, cluster, [externalLogicalClusterAdminGroup]))
      return this.#delegate.authorize(attributes);
    const clauses = [...alwaysAdmitted.map((group) => [group]), ...required.split(';').map((all) => all.split(','))];
    if (clauses.some((groups) => countsAsMember(user, cluster, groups))) return this.#delegate.authorize(attributes);
    return Promise.resolve({ decision: 'deny', reason: `user is not a member of required groups: ${required}` });
  }
}
