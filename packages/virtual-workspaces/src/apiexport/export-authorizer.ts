import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, claimAllows, claimKey, type APIExport, type PermissionClaim } from '@multiplane/apis';
import {
  AnonymisedReasons,
  AuditedStep,
  prefixUser,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  type Exchange,
  type LocatedExport,
} from '@multiplane/apiserver';
import type { Lister } from '@multiplane/client';
import type { AccessReviewer } from '@multiplane/virtual-framework';
import type { BindingList, ConsumerBindings } from '../consumer-bindings.ts';
import { acceptedClaim, bindingTo, claimsAllow, type ExportKey } from './export-bindings.ts';

export interface ExportAccessModules {
  /** Exports of all shards. */
  readonly exports: Lister<APIExport>;
  /** Bindings of this shard. */
  readonly bindings: ConsumerBindings;
  readonly byIdentity: { of(identity: string): readonly LocatedExport[] };
  /** What somebody may do in the logical cluster of an export, of any shard. */
  readonly reviewer: AccessReviewer;
  /** The same without what guards its entrance. */
  readonly deepReviewer: AccessReviewer;
}

const readVerbs: readonly string[] = ['get', 'list', 'watch'];
const noOpinion = (reason: string): AuthorizationResult => ({ decision: 'noOpinion', reason });
const deny = (reason: string): AuthorizationResult => ({ decision: 'deny', reason });
const auditKey = (step: string): string => `virtual.apiexport.${step}.authorization.kcp.io`;

/** How a request to the view of an export comes to its answer. */
interface Asked {
  readonly key: ExportKey;
  readonly exchange: Exchange;
}

/**
 * Who may use the view of an export (C8.2): three steps, each of which refuses or asks the next.
 *
 *   1. boundapi             the logical cluster has bound the export, and brings the resource by that or accepts the claim on
 *                           it with the verb. Over all logical clusters the export must ask for the verb; what each consumer
 *                           accepts its objects' labels say.
 *   2. content              the caller has the verb on `apiexports/content` of the export, where that lives.
 *   3. maxpermissionpolicy  what is claimed of another export, that export's policy allows to the caller.
 *
 * What is not there is told to those alone who get past the second step.
 */
export class ExportAccess {
  readonly #modules: ExportAccessModules;

  constructor(modules: ExportAccessModules) {
    this.#modules = modules;
  }

  /** The decision about one request, told to the audit log step by step. */
  authorizer(key: ExportKey, exchange: Exchange): Authorizer {
    const asked = { key, exchange };
    const step = (name: string, authorize: Authorizer['authorize']): Authorizer =>
      new AuditedStep({ key: auditKey(name) }, { delegate: { authorize } });
    const policy = step('maxpermissionpolicy', (attributes) => this.#policy(asked, attributes));
    const content = step('content', (attributes) => this.#content(asked, attributes, policy));
    const bound = step('boundapi', (attributes) => this.#bound(asked, attributes, content));
    return new AnonymisedReasons({ delegate: bound });
  }

  async #bound(
    { key, exchange }: Asked,
    attributes: AuthorizationAttributes,
    next: Authorizer,
  ): Promise<AuthorizationResult> {
    const { cluster, group, resource, verb, isResourceRequest } = attributes;
    const object = this.#export(key);
    // The last step tells that there is none.
    if (!isResourceRequest || cluster === undefined || object === undefined) return next.authorize(attributes);
    const claim = claimOf(object, group, resource);
    if (cluster === '*') {
      const readsBindings = isBindings(attributes) && readVerbs.includes(verb);
      if (claim === undefined || readsBindings || claimAllows(claim.verbs, verb)) return next.authorize(attributes);
      return deny(`the export does not claim to ${verb} ${resource}`);
    }
    let refusal = deny('');
    const bound = await this.#modules.bindings.decide(exchange, cluster, (bindings) => {
      const reason = refusalOf(key, claim, attributes, bindings);
      if (reason !== undefined) refusal = reason;
      return reason === undefined ? true : undefined;
    });
    return bound === true ? next.authorize(attributes) : refusal;
  }

  async #content(
    { key, exchange }: Asked,
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

  async #policy({ key, exchange }: Asked, attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const object = this.#export(key);
    if (object === undefined) {
      const error = new Error(`API export not found: apiexport.apis.kcp.io "${key.name}" not found`);
      return { decision: 'noOpinion', reason: '', error };
    }
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
      const asked = { verb, group, version, resource, subresource, namespace, name };
      const result = await this.#modules.deepReviewer.review(exchange, user, reference.cluster, asked);
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

/** Why the bindings of a logical cluster do not bring a resource into the view; undefined: they do. */
function refusalOf(
  key: ExportKey,
  claim: DeepReadonly<PermissionClaim> | undefined,
  attributes: AuthorizationAttributes,
  bindings: BindingList,
): AuthorizationResult | undefined {
  const { group, resource, verb } = attributes;
  const binding = bindingTo(bindings, key);
  if (binding === undefined) return deny('could not find suitable APIBinding in target logical cluster');
  if (binding.status?.boundResources?.some((bound) => bound.group === group && bound.resource === resource) === true)
    return undefined;
  if (claim !== undefined && claimsAllow(claim, acceptedClaim(binding, claim), verb)) return undefined;
  if (!isBindings(attributes)) return deny('failed to find suitable reason to allow access in APIBinding');
  return readVerbs.includes(verb)
    ? undefined
    : noOpinion('write access to APIBinding is not allowed from virtual workspace');
}

const isBindings = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;

/** The claim of an export on a resource. What it brings itself it need not claim, and does not. */
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
