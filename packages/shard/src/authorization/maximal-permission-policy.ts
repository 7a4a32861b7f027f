import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { boundDefinitionsCluster, exportProviderGroup, policedIdentities, type APIExport } from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  prefixUser,
  scopesExtra,
  warrantExtra,
} from '@multiplane/generic-server';
import { effectiveUsers } from './effective-users.ts';

/** The part of the binding index that the authorizer uses. */
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
  /** RBAC over the logical clusters of all shards and the roles of `system:admin`; evaluates prefixed users. */
  readonly rbac: Authorizer;
}

/**
 * Limits access to a bound resource to what RBAC in the logical cluster of its APIExport grants, whatever the consumer's
 * RBAC allows (kcp `pkg/authorization/maximal_permission_policy_authorizer.go`).
 *
 *   the resource is not bound, or the check is deep         → delegate
 *   the user is the provider (APIExport virtual workspace)  → delegate
 *   the export with the bound identity exists               → its spec decides whether a policy applies
 *   the export is deleted or replaced                       → the record on the bound CRD decides
 *   a policy applies: RBAC allows a prefixed user           → delegate, else no opinion
 *
 * The provider judges the user as it would see it from outside of the consumer's workspace: each effective user in the logical
 * cluster of the request is reduced to what it is in the cluster of the export, then prefixed. A user that exists in the
 * consumer's workspace alone (by impersonation there, by a token issuer of its type, by a certificate signed there) has a scope
 * that excludes the export, and counts as `system:authenticated` with the group of its workspace; kcp evaluates the scope in the
 * consumer's workspace, so the consumer's administrator may act as whom the provider trusts.
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
    // `<resource>:<identity>` names the same resource; the suffix is parsed after authorization.
    const [resource = ''] = attributes.resource.split(':', 1);
    const found = bindings.boundResource(cluster, group, resource);
    if (found === undefined) return delegate.authorize(attributes);
    const { exportCluster, exportName } = found.binding;
    if (exportCluster === undefined || !this.#hasPolicy(exportCluster, exportName, found.bound.schema))
      return delegate.authorize(attributes);
    const users = effectiveUsers(attributes.user, cluster);
    const provider = exportProviderGroup(exportCluster, exportName);
    if (users.some(({ groups }) => groups.includes(provider))) return delegate.authorize(attributes);
    const outside = users.flatMap((user) =>
      effectiveUsers(withoutWarrants(user), exportCluster as LogicalClusterName).map(withoutScopes),
    );
    return this.#authorizeByExport(attributes, { resource, exportCluster, exportName, users: outside });
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
        user: prefixUser(user),
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

/** The users of the warrants follow in the list of effective users. */
function withoutWarrants(user: UserInfo): UserInfo {
  const { [warrantExtra]: _warrants, ...extra } = user.extra;
  return { ...user, extra };
}

/** Scopes are evaluated in both logical clusters by then. */
function withoutScopes(user: UserInfo): UserInfo {
  const { [scopesExtra]: _scopes, ...extra } = user.extra;
  return { ...user, extra };
}
