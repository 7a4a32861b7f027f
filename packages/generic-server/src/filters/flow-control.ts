import type { FlowController } from '../flow-control/flow-controller.ts';
import type { FlowTicket } from '../flow-control/flow-ticket.ts';
import { TooManyRequestsError } from '../flow-control/too-many-requests-error.ts';
import { sendsInitialEvents } from '../flow-control/work-estimate.ts';
import type { RequestMetrics } from '../request/request-metrics.ts';
import { isLongRunning, type ServerRequestContext } from '../request/server-request-context.ts';
import { writeText } from '../response/responses.ts';
import { SeatExchange } from '../server/seat-exchange.ts';

export interface FlowControlModules {
  readonly controller: FlowController;
  readonly metrics: RequestMetrics;
}

export interface FlowControlOptions {
  /** The endpoints call `watchInitialized`; else a watch occupies no seat beyond its admission. */
  readonly watchesSignal: boolean;
}

type Handler = (context: ServerRequestContext) => Promise<void>;

/**
 * Executes requests by priority and fairness (Kubernetes: apiserver/pkg/server/filters/priority-and-fairness.go). A request
 * with a body gets its seats when the body is read, a list frees them while its client reads, a watch once it is initialized.
 * As in kube-apiserver, long-running requests other than watches do not count.
 */
export function withFlowControl(options: FlowControlOptions, modules: FlowControlModules): (next: Handler) => Handler {
  const { controller, metrics } = modules;
  const { inFlight } = metrics;

  const reject = (context: ServerRequestContext, error: unknown): void => {
    const { exchange } = context;
    if (!(error instanceof TooManyRequestsError) || exchange.headersSent) throw error;
    metrics.terminated(context, 429);
    exchange.setHeader('retry-after', String(error.retryAfterSeconds));
    exchange.setHeader('x-content-type-options', 'nosniff');
    writeText(exchange, 429, 'Too many requests, please try again later.\n');
  };

  const serveGet = async (context: ServerRequestContext, ticket: FlowTicket, next: Handler): Promise<void> => {
    inFlight.readOnly++;
    try {
      const wait = controller.acquire(ticket, context);
      if (wait !== undefined) await wait;
      // Documents of many megabytes, which a client may read slowly.
      if (!context.info.isResourceRequest)
        context.exchange = new SeatExchange(context.exchange, { controller, request: context }, ticket);
      await next(context);
    } catch (error) {
      reject(context, error);
    } finally {
      inFlight.readOnly--;
      controller.release(ticket);
    }
  };

  const serve = async (context: ServerRequestContext, ticket: FlowTicket, next: Handler): Promise<void> => {
    const { verb } = context.info;
    const kind = verb === 'list' || verb === 'watch' ? 'readOnly' : 'mutating';
    const endWatch = verb === 'watch' ? controller.watches.start(context.info) : undefined;
    const { exchange } = context;
    let counts = true;
    const leave = (): void => {
      if (counts) inFlight[kind]--;
      counts = false;
      controller.release(ticket);
    };
    inFlight[kind]++;
    try {
      if (kind === 'mutating' && exchange.bodyStream?.() !== undefined) {
        context.exchange = new SeatExchange(exchange, { controller, request: context }, ticket);
      } else {
        const wait = controller.acquire(ticket, context);
        if (wait !== undefined) await wait;
        if (verb === 'list' || (verb === 'watch' && options.watchesSignal && sendsInitialEvents(context.info.query)))
          context.exchange = new SeatExchange(exchange, { controller, request: context }, ticket);
      }
      if (verb === 'watch') {
        if (options.watchesSignal) context.watchInitialized = leave;
        else leave();
      }
      await next(context);
    } catch (error) {
      reject(context, error);
    } finally {
      endWatch?.();
      leave();
    }
  };

  return (next) => (context) => {
    const { info, user, exchange } = context;
    if (info.verb !== 'watch' && isLongRunning(info)) return next(context);
    const flow = controller.classify(user, info);
    const { level } = flow;
    if (flow.schemaUid !== '') {
      exchange.setHeader('x-kubernetes-pf-flowschema-uid', flow.schemaUid);
      exchange.setHeader('x-kubernetes-pf-prioritylevel-uid', level.configuration.uid);
    }
    if (level.set !== undefined) {
      const ticket = controller.ticket(flow, user, info);
      context.ticket = ticket;
      return info.verb === 'get' ? serveGet(context, ticket, next) : serve(context, ticket, next);
    }
    flow.series?.dispatched.add(1);
    flow.executing++;
    context.exemptFlow = flow;
    return next(context);
  };
}
