import { isStatusError, mastersGroup, quote, statusErrors } from '@multiplane/apimachinery';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import type { Filter, Handler, RequestContext } from '../request-context.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import { writeText } from '../responses.ts';

export interface AuthorizationModules {
  /** Refuses for a logical cluster that does not exist as for one that the caller may not enter (C7.7). */
  readonly authorizer: Authorizer;
  readonly metrics: RequestMetrics;
  /** What a request asks leave for; {@link authorizationAttributesOf} unless told otherwise. */
  readonly attributesOf?: ((context: RequestContext) => AuthorizationAttributes) | undefined;
}

/** Asks whether the caller may do this; system:masters may do everything, unasked (K7.3). */
export function withAuthorization(modules: AuthorizationModules): Filter {
  const { attributesOf = authorizationAttributesOf } = modules;
  const ask = async (context: RequestContext, next: Handler): Promise<void> => {
    const { exchange, audit } = context;
    const attributes =
      audit === undefined
        ? attributesOf(context)
        : {
            ...attributesOf(context),
            annotate: (key: string, value: string) => audit.annotate(`request.auth.kcp.io/${key}`, value),
          };
    const { decision, reason, error } = await modules.authorizer.authorize(attributes);
    audit?.annotate('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
    audit?.annotate('authorization.k8s.io/reason', reason);
    modules.metrics.authorization[decision !== 'allow' && error !== undefined ? 'error' : decision].add(1);
    if (decision === 'allow') {
      await next(context);
      return;
    }
    // Whoever would know is away: the caller comes back, as for any server behind this one.
    if (isStatusError(error, 'ServiceUnavailable')) throw error;
    if (error !== undefined) {
      writeText(exchange, 500, `Internal Server Error: ${quote(exchange.url)}: ${error.message}\n`);
      return;
    }
    throw forbidden(context, attributes, reason);
  };
  return (next) => (context) => {
    if (!context.user.groups.includes(mastersGroup)) return ask(context, next);
    context.audit?.annotate('authorization.k8s.io/decision', 'allow');
    context.audit?.annotate('authorization.k8s.io/reason', '');
    return next(context);
  };
}

/** What a request asks leave for, as authorizers see it. */
export function authorizationAttributesOf(context: RequestContext): AuthorizationAttributes {
  const { info } = context;
  const selects = info.verb === 'list' || info.verb === 'watch' || info.verb === 'deletecollection';
  return {
    user: context.user,
    cluster: info.cluster,
    verb: info.verb,
    isResourceRequest: info.isResourceRequest,
    group: info.group,
    version: info.version,
    namespace: info.namespace,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
    path: info.path,
    fieldSelector: selects ? (info.query.get('fieldSelector') ?? undefined) : undefined,
    labelSelector: selects ? (info.query.get('labelSelector') ?? undefined) : undefined,
  };
}

/** The 403 of K1.6. Browsers must not guess at its type: it echoes what the caller sent. */
function forbidden(context: RequestContext, attributes: AuthorizationAttributes, reason: string): Error {
  context.exchange.setHeader('x-content-type-options', 'nosniff');
  const why = reason === '' ? forbiddenText(attributes) : `${forbiddenText(attributes)}: ${reason}`;
  return statusErrors.forbidden(attributes, attributes.name, why.replaceAll(/[&<>]/g, escapeHtml));
}

const escapeHtml = (char: string): string => (char === '&' ? '&amp;' : char === '<' ? '&lt;' : '&gt;');

function forbiddenText({ user, verb, isResourceRequest, ...attributes }: AuthorizationAttributes): string {
  const who = `User ${quote(user.name)} cannot ${verb}`;
  if (!isResourceRequest) return `${who} path ${quote(attributes.path)}`;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const where =
    attributes.namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(attributes.namespace)}`;
  return `${who} resource ${quote(resource)} in API group ${quote(attributes.group)} ${where}`;
}
