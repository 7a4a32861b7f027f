import { isStatusError, type UserInfo } from '@multiplane/apimachinery';
import { currentSpan, runAndEnd, type Span, type Tracer } from '@multiplane/component-base';
import type { RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { isServer } from '../server/connection-names.ts';

export interface TracingModules {
  readonly tracer: Tracer;
  readonly authenticator: RequestAuthenticator;
}

/** Whether a user may continue its own trace here, and so decide that a request is recorded: as in kube-apiserver, or our servers. */
export const mayContinueTrace = (user: UserInfo): boolean =>
  isServer(user) || user.groups.includes('system:monitoring');

/**
 * Records requests as spans. Must follow authentication and precede impersonation: who may continue a trace depends on the
 * credential of the connection. A request that another server of this process dispatches continues the span of that server.
 */
export function withTracing({ tracer, authenticator }: TracingModules): Filter {
  return (next) => async (context) => {
    const span = currentSpan()?.child(spanName(context), attributesOf(context)) ?? startRequest(context);
    await runAndEnd(span, async () => {
      try {
        await next(context);
        setStatus(span, context.exchange.status);
      } catch (error) {
        setStatus(span, isStatusError(error) ? error.code : 500);
        throw error;
      }
    });
  };

  function startRequest(context: RequestContext): Span {
    const { traceparent, tracestate } = context.exchange.headers;
    return tracer.startRequest({
      name: spanName(context),
      startedAt: context.receivedAt,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
      tracestate: typeof tracestate === 'string' ? tracestate : undefined,
      isTrusted:
        traceparent !== undefined &&
        (mayContinueTrace(context.user) || authenticator.isProxy?.(context.exchange) === true),
      attributes: attributesOf(context),
    });
  }
}

const setStatus = (span: Span, status: number): void => span.set({ 'http.response.status_code': status });

/** Method and path with placeholders, as in kube-apiserver; a path that no resource has is left out. */
function spanName({ exchange, info }: RequestContext): string {
  if (!info.isResourceRequest) return exchange.method;
  const group = info.group === '' ? '/api' : `/apis/${info.group}`;
  const namespace = info.namespace === '' ? '' : '/namespaces/{:namespace}';
  const name = info.name === '' ? '' : '/{:name}';
  const subresource = info.subresource === '' ? '' : `/${info.subresource}`;
  return `${exchange.method} ${group}/${info.version}${namespace}/${resourceOf(info)}${name}${subresource}`;
}

/** Without the identity of an APIExport (`widgets:<hash>`), of which there are as many as exports. */
const resourceOf = ({ resource }: RequestInfo): string => resource.split(':', 1)[0] as string;

function attributesOf({ exchange, info, auditId }: RequestContext): Record<string, string> {
  return { 'http.request.method': exchange.method, 'audit-id': auditId, ...resourceAttributes(info) };
}

function resourceAttributes(info: RequestInfo): Record<string, string> {
  const { verb, group, version, subresource } = info;
  if (!info.isResourceRequest) return { 'k8s.verb': verb };
  return {
    'k8s.verb': verb,
    'k8s.group': group,
    'k8s.version': version,
    'k8s.resource': resourceOf(info),
    ...(subresource === '' ? {} : { 'k8s.subresource': subresource }),
    // Which tenant is what a trace is for; it is the id that audit events have, no path.
    ...(info.cluster === undefined ? {} : { 'kcp.logical_cluster': info.cluster }),
  };
}
