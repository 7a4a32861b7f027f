import type { UserInfo } from '@multiplane/apimachinery';
import { runAndEnd, type Tracer } from '@multiplane/component-base';
import { mayContinueTrace, type BaseExchange } from '@multiplane/generic-server';

/**
 * Forwards a request within a span. The trace of the client is continued for operators alone: shards trust the trace context
 * of this server, so that a tenant could otherwise have all of its requests recorded.
 */
export function traceProxied(
  tracer: Tracer,
  exchange: BaseExchange,
  user: UserInfo | undefined,
  shard: string,
  forward: () => Promise<void>,
): Promise<void> {
  const { traceparent, tracestate } = exchange.headers;
  const span = tracer.startRequest({
    name: `${exchange.method} proxy`,
    startedAt: undefined,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
    isTrusted: user !== undefined && mayContinueTrace(user),
    attributes: { 'http.request.method': exchange.method, ...(shard === '' ? {} : { 'multiplane.shard': shard }) },
  });
  return runAndEnd(span, async () => {
    await forward();
    span.set({ 'http.response.status_code': exchange.status });
  });
}
