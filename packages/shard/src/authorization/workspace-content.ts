import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { type AuthorizationAttributes, type AuthorizationResult, type Authorizer } from '@multiplane/apiserver';
import { rootCluster } from '../logical-cluster-index.ts';
import { isInScope } from './effective-users.ts';

const contentPhases = new Set(['Initializing', 'Ready', 'Inactive', 'Terminating', 'Deleting']);

/**
 * Who may enter a logical cluster at all (C7.7 `02-content`): those with the verb `access` on the path `/` there, and
 * its own ServiceAccounts. Everybody else gets the same refusal whether the cluster exists or not, and learns nothing of
 * what is in it.
 */
export class WorkspaceContentAuthorizer implements Authorizer {
  readonly #rbac: Authorizer;
  readonly #delegate: Authorizer;
  readonly #logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  constructor(modules: {
    readonly rbac: Authorizer;
    readonly delegate: Authorizer;
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  }) {
    this.#rbac = modules.rbac;
    this.#delegate = modules.delegate;
    this.#logicalCluster = modules.logicalCluster;
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster, user } = attributes;
    if (cluster === '*') return { decision: 'noOpinion', reason: 'empty cluster name' };
    // Documents of the server itself, outside of any workspace: the bootstrap policy and the root workspace decide (C1.4).
    if (cluster === undefined)
      return attributes.isResourceRequest
        ? { decision: 'noOpinion', reason: 'empty cluster name' }
        : this.#rbac.authorize({ ...attributes, cluster: rootCluster });
    if (cluster.startsWith('system:')) return { decision: 'noOpinion', reason: 'empty or system workspace' };
    const object = this.#logicalCluster(cluster);
    if (object === undefined) return { decision: 'deny', reason: 'LogicalCluster not found' };
    const phase = (object['status'] as { phase?: string } | undefined)?.phase ?? 'Scheduling';
    if (!contentPhases.has(phase)) return { decision: 'noOpinion', reason: `not permitted due to phase "${phase}"` };
    // A service account without a cluster of its own (an impersonated one) is one of this workspace (C7.4).
    const isServiceAccount = user.name.startsWith('system:serviceaccount:');
    if (!(isServiceAccount && isInScope(user, cluster))) {
      const access = await this.#rbac.authorize({
        user,
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
      if (access.decision !== 'allow') return { decision: 'noOpinion', reason: 'no verb=access permission on /' };
    }
    return this.#delegate.authorize(attributes);
  }
}

/**
 * Reasons of a refusal stay inside (they go to the audit log): a client is told `text` and no more, so that nobody can
 * tell a forbidden workspace from a missing one.
 */
export class AnonymisedReasons implements Authorizer {
  readonly #text: string;
  readonly #delegate: Authorizer;
  constructor(options: { readonly text: string }, modules: { readonly delegate: Authorizer }) {
    this.#text = options.text;
    this.#delegate = modules.delegate;
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const result = await this.#delegate.authorize(attributes);
    return result.decision === 'allow' ? result : { ...result, reason: this.#text };
  }
}
