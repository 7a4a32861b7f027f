import { isStatusError, mastersGroup, quote, statusErrors } from '@multiplane/apimachinery';
import { traced } from '@multiplane/component-base';
import type { AuthorizationAttributes, Authorizer } from '../authorization/authorizer.ts';
import { permissionPrecondition } from '../authorization/permission-precondition.ts';
import type { Filter, Handler, RequestContext } from '../request/request-context.ts';
import type { RequestMetrics } from '../request/request-metrics.ts';
import { writeText } from '../response/responses.ts';

export interface AuthorizationModules {
  /** Must refuse a missing logical cluster in the same way as one that the caller may not access. */
  readonly authorizer: Authorizer;
  readonly metrics: RequestMetrics;
  /** Default: {@link authorizationAttributesOf}. */
  readonly attributesOf?: ((context: RequestContext) => AuthorizationAttributes) | undefined;
}

/** Authorizes the request. Members of `system:masters` are allowed without a call of the authorizer. */
export function withAuthorization(modules: AuthorizationModules): Filter {
  const { attributesOf = authorizationAttributesOf } = modules;
  const authorize = async (context: RequestContext, next: Handler): Promise<void> => {
    const { exchange, audit } = context;
    const attributes =
      audit === undefined
        ? attributesOf(context)
        : {
            ...attributesOf(context),
            annotate: (key: string, value: string) => audit.annotate(`request.auth.kcp.io/${key}`, value),
          };
    const { decision, reason, error } = await traced('authorization', () => modules.authorizer.authorize(attributes));
    audit?.annotate('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
    audit?.annotate('authorization.k8s.io/reason', reason);
    modules.metrics.authorization[decision !== 'allow' && error !== undefined ? 'error' : decision].add(1);
    if (decision === 'allow') {
      context.preconditions?.push(permissionPrecondition(modules.authorizer, attributes, context.exchange.url));
      await next(context);
      return;
    }
    // For example 503 while the server that decides is unavailable, or 404 for what the caller may know to be missing.
    if (isStatusError(error)) throw error;
    if (error !== undefined) {
      writeText(exchange, 500, `Internal Server Error: ${quote(exchange.url)}: ${error.message}\n`);
      return;
    }
    throw forbidden(context, attributes, reason);
  };
  return (next) => (context) => {
    if (!context.user.groups.includes(mastersGroup)) return authorize(context, next);
    context.audit?.annotate('authorization.k8s.io/decision', 'allow');
    context.audit?.annotate('authorization.k8s.io/reason', '');
    return next(context);
  };
}

/** The attributes of a request for authorizers. */
export function authorizationAttributesOf(context: RequestContext): AuthorizationAttributes {
  const { info } = context;
  const hasSelectors = info.verb === 'list' || info.verb === 'watch' || info.verb === 'deletecollection';
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
    // The request path has valid escapes only, and none of a slash: every form of it has one meaning.
    path: info.path.includes('%') ? decodeURIComponent(info.path) : info.path,
    fieldSelector: hasSelectors ? (info.query.get('fieldSelector') ?? undefined) : undefined,
    labelSelector: hasSelectors ? (info.query.get('labelSelector') ?? undefined) : undefined,
  };
}

/** A 403 with the message of kube-apiserver. `nosniff`, because the message repeats input of the caller. */
export function forbidden(context: RequestContext, attributes: AuthorizationAttributes, reason: string): Error {
  context.exchange.setHeader('x-content-type-options', 'nosniff');
  const message = reason === '' ? forbiddenText(attributes) : `${forbiddenText(attributes)}: ${reason}`;
  return statusErrors.forbidden(attributes, attributes.name, message.replaceAll(/[&<>]/g, escapeHtml));
}

const escapeHtml = (char: string): string => (char === '&' ? '&amp;' : char === '<' ? '&lt;' : '&gt;');

function forbiddenText({ user, verb, isResourceRequest, ...attributes }: AuthorizationAttributes): string {
  const prefix = `User ${quote(user.name)} cannot ${verb}`;
  if (!isResourceRequest) return `${prefix} path ${quote(attributes.path)}`;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const scope =
    attributes.namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(attributes.namespace)}`;
  return `${prefix} resource ${quote(resource)} in API group ${quote(attributes.group)} ${scope}`;
}
