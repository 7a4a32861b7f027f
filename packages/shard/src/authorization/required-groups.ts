import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  isServiceAccount,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/apiserver';
import { requiredGroupsAnnotation } from '@multiplane/controllers';
import { countsAsMember } from './effective-users.ts';

/** Creates logical clusters on other shards. */
export const logicalClusterAdminGroup = 'system:kcp:logical-cluster-admin';
/** Finishes what shards do for each other, through the front-proxy. */
export const externalLogicalClusterAdminGroup = 'system:kcp:external-logical-cluster-admin';
const alwaysAdmitted = ['system:kcp:admin', 'system:kcp:tenancy:workspace-bootstrapper'];

/**
 * Whom a logical cluster admits at all (C7.7 `01-requiredgroups`): its annotation may ask for groups, whatever RBAC
 * inside says. Its ServiceAccounts and those who run the control plane are asked for nothing.
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
    // The shard's own clusters have no object; what follows decides on them.
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
