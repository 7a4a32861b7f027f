import { statusErrors, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  claimAllows,
  claimIncludes,
  claimKey,
  type APIExport,
  type PermissionClaim,
} from '@multiplane/apis';
import type { LocatedExport } from '@multiplane/apiserver';
import type { Lister } from '@multiplane/client';
import {
  AnonymizingAuthorizer,
  AuditLoggingAuthorizer,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  type Exchange,
  prefixUser,
} from '@multiplane/generic-server';
import type { AccessReviewer } from '@multiplane/virtual-framework';
import type { BindingList, ConsumerBindings } from '../consumer-bindings.ts';
import { acceptedClaim, bindingTo, claimsAllow, type ExportKey } from './export-bindings.ts';

export interface ExportAuthorizerModules {
  /** APIExports of all shards. */
  readonly exports: Lister<APIExport>;
  /** APIBindings of this shard. */
  readonly bindings: ConsumerBindings;
  readonly byIdentity: { of(identity: string): readonly LocatedExport[] };
  /** Reviews access in the logical cluster of an APIExport on any shard. */
  readonly reviewer: AccessReviewer;
  /** The same, without the workspace content authorizer. */
  readonly deepReviewer: AccessReviewer;
}

const apiExports = { group: 'apis.kcp.io', resource: 'apiexports' };
const readVerbs: readonly string[] = ['get', 'list', 'watch'];
const noOpinion = (reason: string): AuthorizationResult => ({ decision: 'noOpinion', reason });
const deny = (reason: string): AuthorizationResult => ({ decision: 'deny', reason });
const auditKey = (step: string): string => `virtual.apiexport.${step}.authorization.kcp.io`;

/** The APIExport and exchange of an authorized request. */
interface ReviewContext {
  readonly key: ExportKey;
  readonly exchange: Exchange;
}

/** Runs one step of the authorization, and the next ones if it delegates. */
export type AuthorizationStep = (attributes: AuthorizationAttributes, next: Authorizer) => Promise<AuthorizationResult>;

/**
 * Authorizes requests to the APIExport virtual workspace (kcp: pkg/virtual/apiexport/authorizer) in three steps, each
 * of which denies or delegates to the next:
 *
 * 1. `boundapi`: the logical cluster has an APIBinding to the export, and binds the resource or accepts the claim on it
 *    with the verb. Across all logical clusters the export must claim the verb; the acceptance of each consumer is
 *    enforced by labels of the objects.
 * 2. `content`: the caller has the verb on `apiexports/content` of the export, in the export's logical cluster.
 * 3. `maxpermissionpolicy`: the maximal permission policy of the export that provides a claimed resource allows the
 *    caller.
 *
 * Whether an export exists is only visible to callers that pass the second step.
 */
export class ExportAuthorizer {
  readonly #modules: ExportAuthorizerModules;

  constructor(modules: ExportAuthorizerModules) {
    this.#modules = modules;
  }

  /** The authorizer of one request; each step writes an audit annotation. */
  authorizer(key: ExportKey, exchange: Exchange): Authorizer {
    const reviewed = { key, exchange };
    const policy = step('maxpermissionpolicy', (attributes) => this.#authorizeMaximalPermission(reviewed, attributes));
    const content = step('content', (attributes) => this.#authorizeContent(reviewed, attributes, policy));
    const bound = step('boundapi', (attributes) => this.#authorizeBoundApi(reviewed, attributes, content));
    return new AnonymizingAuthorizer({ delegate: bound });
  }

  /** As {@link authorizer}, with another step for access to the content, which comes first: what a caller without it learns does not depend on the export. */
  authorizerOfPart(key: ExportKey, exchange: Exchange, authorizeContent: AuthorizationStep): Authorizer {
    const reviewed = { key, exchange };
    const policy = step('maxpermissionpolicy', (attributes) => this.#authorizeMaximalPermission(reviewed, attributes));
    const bound = step('boundapi', (attributes) => this.#authorizeBoundApi(reviewed, attributes, policy));
    const content = step('content', (attributes) => authorizeContent(attributes, bound));
    return new AnonymizingAuthorizer({ delegate: content });
  }

  async #authorizeBoundApi(
    { key, exchange }: ReviewContext,
    attributes: AuthorizationAttributes,
    next: Authorizer,
  ): Promise<AuthorizationResult> {
    const { cluster, group, resource, subresource, verb, isResourceRequest } = attributes;
    const object = this.#export(key);
    // The last step reports a missing export.
    if (!isResourceRequest || cluster === undefined || object === undefined) return next.authorize(attributes);
    const claim = claimOf(object, group, resource);
    if (cluster === '*') {
      const readsBindings = isBindings(attributes) && readVerbs.includes(verb);
      if (claim === undefined || readsBindings || (claimAllows(claim.verbs, verb) && claimIncludes(claim, subresource)))
        return next.authorize(attributes);
      return deny(`the export does not claim to ${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`);
    }
    let denial = deny('');
    const bound = await this.#modules.bindings.evaluate(exchange, cluster, (bindings) => {
      const reason = denialOf(key, claim, attributes, bindings);
      if (reason !== undefined) denial = reason;
      return reason === undefined ? true : undefined;
    });
    return bound === true ? next.authorize(attributes) : denial;
  }

  async #authorizeContent(
    { key, exchange }: ReviewContext,
    attributes: AuthorizationAttributes,
    next: Authorizer,
  ): Promise<AuthorizationResult> {
    const result = await this.#modules.reviewer.review(exchange, attributes.user, key.cluster, {
      verb: attributes.verb,
      group: 'apis.kcp.io',
      version: 'v1alpha1',
      resource: 'apiexports',
      subresource: 'content',
      namespace: '',
      name: key.name,
    });
    if (result.decision === 'allow') return next.authorize(attributes);
    return {
      ...result,
      decision: 'noOpinion',
      reason: `API export: "${key.name}", workspace: "${key.cluster}" RBAC decision: ${result.reason}`,
    };
  }

  async #authorizeMaximalPermission(
    { key, exchange }: ReviewContext,
    attributes: AuthorizationAttributes,
  ): Promise<AuthorizationResult> {
    const object = this.#export(key);
    if (object === undefined)
      return { decision: 'noOpinion', reason: '', error: statusErrors.notFound(apiExports, key.name) };
    const about = `API export: "${key.name}", workspace :"${key.cluster}"`;
    const { group, resource, version, verb, subresource, namespace, name } = attributes;
    const claim = claimOf(object, group, resource);
    if (claim === undefined) return { decision: 'allow', reason: `unclaimed resource in ${about}` };
    const { identityHash = '' } = claim;
    if (identityHash === '')
      return { decision: 'allow', reason: `unclaimable resource, identity hash not set in claiming ${about}` };
    const providers = this.#modules.byIdentity.of(identityHash);
    if (providers.length === 0)
      return deny(`no API export providing claimed resources found for identity hash: "${identityHash}"`);
    const user = prefixUser(attributes.user);
    for (const { reference, object: provider } of providers) {
      if (provider.spec?.maximalPermissionPolicy?.local === undefined) continue;
      const reviewed = { verb, group, version, resource, subresource, namespace, name };
      const result = await this.#modules.deepReviewer.review(exchange, user, reference.cluster, reviewed);
      if (result.decision === 'allow') continue;
      return {
        ...result,
        decision: 'noOpinion',
        reason: `API export: "${reference.name}", workspace: "${reference.cluster}" RBAC decision: ${result.reason}`,
      };
    }
    return { decision: 'allow', reason: 'all claimed API exports granted access' };
  }

  #export({ cluster, name }: ExportKey): DeepReadonly<APIExport> | undefined {
    return this.#modules.exports.get({ cluster: cluster as LogicalClusterName, namespace: '', name });
  }
}

const step = (name: string, authorize: Authorizer['authorize']): Authorizer =>
  new AuditLoggingAuthorizer({ key: auditKey(name) }, { delegate: { authorize } });

/** Why the APIBindings of a logical cluster do not provide a resource; undefined: they do. */
function denialOf(
  key: ExportKey,
  claim: DeepReadonly<PermissionClaim> | undefined,
  attributes: AuthorizationAttributes,
  bindings: BindingList,
): AuthorizationResult | undefined {
  const { group, resource, subresource, verb } = attributes;
  const binding = bindingTo(bindings, key);
  if (binding === undefined) return deny('could not find suitable APIBinding in target logical cluster');
  if (binding.status?.boundResources?.some((bound) => bound.group === group && bound.resource === resource) === true)
    return undefined;
  if (claim !== undefined && claimsAllow(claim, acceptedClaim(binding, claim), verb, subresource)) return undefined;
  if (!isBindings(attributes)) return deny('failed to find suitable reason to allow access in APIBinding');
  return readVerbs.includes(verb)
    ? undefined
    : noOpinion('write access to APIBinding is not allowed from virtual workspace');
}

const isBindings = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;

/** The export's permission claim on a resource; a claim on a resource that the export provides itself is ignored. */
function claimOf(
  object: DeepReadonly<APIExport>,
  group: string,
  resource: string,
): DeepReadonly<PermissionClaim> | undefined {
  const { resources = [], permissionClaims = [] } = object.spec ?? {};
  const key = claimKey({ group, resource });
  const isIt = (other: { readonly group?: string | undefined; readonly resource: string }): boolean =>
    claimKey({ group: other.group, resource: other.resource }) === key;
  if (resources.some((own) => isIt({ group: own.group, resource: own.name }))) return undefined;
  return permissionClaims.find(isIt);
}
