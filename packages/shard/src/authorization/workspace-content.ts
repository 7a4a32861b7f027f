import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  isServiceAccount,
} from '@multiplane/generic-server';
import { countsAsMember, isInScope } from './effective-users.ts';
import type { LifecycleRules } from './lifecycle-rules.ts';
import { logicalClusterAdminGroup } from './required-groups.ts';

const contentPhases = new Set(['Initializing', 'Ready', 'Inactive', 'Terminating', 'Deleting']);

/**
 * Admits users with the verb `access` on the path `/` of the logical cluster, and its own ServiceAccounts (kcp
 * `pkg/authorization/workspace_content_authorizer.go`). The refusal does not reveal whether the cluster exists.
 */
export class WorkspaceContentAuthorizer implements Authorizer {
  readonly #rbac: Authorizer;
  readonly #delegate: Authorizer;
  readonly #logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  readonly #lifecycleRules: LifecycleRules;
  constructor(modules: {
    readonly rbac: Authorizer;
    readonly delegate: Authorizer;
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
    readonly lifecycleRules: LifecycleRules;
  }) {
    this.#rbac = modules.rbac;
    this.#delegate = modules.delegate;
    this.#logicalCluster = modules.logicalCluster;
    this.#lifecycleRules = modules.lifecycleRules;
  }

  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster, user, deep } = attributes;
    if (cluster === '*') return refusal('empty cluster name');
    if (cluster === undefined) return refusal('empty cluster name');
    if (cluster.startsWith('system:')) return refusal('empty or system workspace');
    if (deep === true || countsAsMember(user, cluster, [logicalClusterAdminGroup]))
      return this.#delegate.authorize(attributes);
    const object = this.#logicalCluster(cluster);
    if (object === undefined) return Promise.resolve({ decision: 'deny', reason: 'LogicalCluster not found' });
    const phase = (object['status'] as { phase?: string } | undefined)?.phase ?? 'Scheduling';
    if (!contentPhases.has(phase)) return refusal(`not permitted due to phase "${phase}"`);
    // Controllers of the workspace type have access; RBAC applies the rules of the type.
    if (this.#lifecycleRules(user, cluster) !== undefined) return this.#delegate.authorize(attributes);
    // An impersonated service account has no cluster of its own and counts as one of this workspace.
    return isServiceAccount(user) && isInScope(user, cluster)
      ? this.#delegate.authorize(attributes)
      : this.#ifAllowedIn(attributes, cluster);
  }

  async #ifAllowedIn(attributes: AuthorizationAttributes, cluster: LogicalClusterName): Promise<AuthorizationResult> {
    const access = await this.#rbac.authorize({
      user: attributes.user,
      cluster,
      verb: 'access',
      isResourceRequest: false,
      path: '/',
      group: '',
      version: '',
      namespace: '',
      resource: '',
      subresource: '',
      name: '',
    });
    return access.decision === 'allow'
      ? await this.#delegate.authorize(attributes)
      : await refusal('no verb=access permission on /');
  }
}

const refusal = (reason: string): Promise<AuthorizationResult> => Promise.resolve({ decision: 'noOpinion', reason });
