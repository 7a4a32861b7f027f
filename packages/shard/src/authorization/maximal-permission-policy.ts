import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { boundDefinitionsCluster, exportProviderGroup, policedIdentities, type APIExport } from '@multiplane/apis';
import {
  prefixUser,
  scopesExtra,
  warrantExtra,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/apiserver';
import type { Lister } from '@multiplane/client';
import { effectiveUsers } from './effective-users.ts';

/** What a logical cluster has bound, as far as policies ask. */
export interface BoundResources {
  boundResource(
    cluster: LogicalClusterName,
    group: string,
    resource: string,
  ):
    | {
        readonly binding: { readonly exportCluster?: string | undefined; readonly exportName: string };
        readonly bound: { readonly schema: { readonly UID: string; readonly identityHash: string } };
      }
    | undefined;
}

export interface MaximalPermissionPolicyModules {
  readonly delegate: Authorizer;
  readonly bindings: BoundResources;
  /** Exports of all shards. */
  readonly exports: Lister<APIExport>;
  /** CustomResourceDefinitions of this shard. */
  readonly definitions: Lister;
  /** RBAC of all shards' logical clusters, with the roles of `system:admin`; asked about prefixed users. */
  readonly rbac: Authorizer;
}

/**
 * Nobody may do more with a bound resource than the logical cluster of its export grants, whatever the rules of the
 * consumer say (C7.7 `04-maxpermissionpolicy`).
 *
 *   not bound here, or asked deeply                     → the next step
 *   who offers it, through the view of the export       → the next step (C8.2)
 *   the export of this identity is there                → its spec says whether there is a policy
 *   it is gone, or another one took its name            → what the bound definition remembers of it
 *   a policy, and RBAC allows it to one of the prefixed → the next step, else no opinion
 *
 * Whoever the user counts as in the logical cluster of the request is prefixed one by one: scopes are judged where the
 * request is, and mean nothing in the cluster of the export.
 */
export class MaximalPermissionPolicyAuthorizer implements Authorizer {
  readonly #modules: MaximalPermissionPolicyModules;

  constructor(modules: MaximalPermissionPolicyModules) {
    this.#modules = modules;
  }

  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { delegate, bindings } = this.#modules;
    const { cluster, isResourceRequest, deep, group } = attributes;
    if (!isResourceRequest || deep === true || cluster === undefined || cluster === '*')
      return delegate.authorize(attributes);
    // `<resource>:<identity>` is taken apart behind this chain; it means the same resource.
    const [resource = ''] = attributes.resource.split(':', 1);
    const found = bindings.boundResource(cluster, group, resource);
    if (found === undefined) return delegate.authorize(attributes);
    const { exportCluster, exportName } = found.binding;
    if (exportCluster === undefined || !this.#hasPolicy(exportCluster, exportName, found.bound.schema))
      return delegate.authorize(attributes);
    const users = effectiveUsers(attributes.user, cluster);
    const provider = exportProviderGroup(exportCluster, exportName);
    if (users.some(({ groups }) => groups.includes(provider))) return delegate.authorize(attributes);
    return this.#authorizeByExport(attributes, { resource, exportCluster, exportName, users });
  }

  async #authorizeByExport(
    attributes: AuthorizationAttributes,
    asked: {
      readonly resource: string;
      readonly exportCluster: string;
      readonly exportName: string;
      readonly users: readonly UserInfo[];
    },
  ): Promise<AuthorizationResult> {
    const { delegate, rbac } = this.#modules;
    const { resource, exportCluster, exportName, users } = asked;
    const prefix = `API export "${exportCluster}"|"${exportName}" policy: `;
    let reason = '';
    for (const user of users) {
      const result = await rbac.authorize({
        ...attributes,
        annotate: undefined,
        resource,
        cluster: exportCluster as LogicalClusterName,
        user: prefixUser(withoutCredentials(user)),
      });
      if (result.decision === 'allow') return delegate.authorize(attributes);
      if (reason === '') ({ reason } = result);
    }
    return { decision: 'noOpinion', reason: `${prefix}${reason}` };
  }

  #hasPolicy(
    cluster: string,
    name: string,
    { UID, identityHash }: { readonly UID: string; readonly identityHash: string },
  ): boolean {
    const { exports, definitions } = this.#modules;
    const object = exports.get({ cluster: cluster as LogicalClusterName, namespace: '', name });
    if (object?.status?.identityHash === identityHash) return object.spec?.maximalPermissionPolicy?.local !== undefined;
    const definition: DeepReadonly<KubeObject> | undefined = definitions.get({
      cluster: boundDefinitionsCluster as LogicalClusterName,
      namespace: '',
      name: UID,
    });
    return definition !== undefined && policedIdentities(definition).has(identityHash);
  }
}

/** Without what was judged already: which clusters somebody may be in, and who vouches for it. */
function withoutCredentials(user: UserInfo): UserInfo {
  const { [scopesExtra]: _scopes, [warrantExtra]: _warrants, ...extra } = user.extra;
  return { ...user, extra };
}
