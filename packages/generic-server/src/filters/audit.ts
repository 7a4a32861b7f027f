import { isJsonObject, isStatusError, parseJson, type JsonObject } from '@multiplane/apimachinery';
import type { Clock, Logger } from '@multiplane/component-base';
import type { AuditBackend, AuditEvent } from '../audit/audit-event.ts';
import type { AuditPolicy } from '../audit/audit-policy.ts';
import { AuditTrail } from '../audit/audit-trail.ts';
import type { Headers } from '../exchange.ts';
import { ObservedExchange } from '../server/observed-exchange.ts';
import { isLongRunning, type ServerRequestContext } from '../server-request-context.ts';
import { authorizationAttributesOf } from './authorization.ts';

export interface AuditModules {
  readonly policy: AuditPolicy;
  readonly backend: AuditBackend;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Requests that cannot be told about are refused (`blocking-strict`). */
  readonly isStrict?: boolean | undefined;
  /** What a server says of every request of its own accord. */
  readonly annotationsOf?: ((context: ServerRequestContext) => Readonly<Record<string, string>>) | undefined;
}

type Handler = (context: ServerRequestContext) => Promise<void>;
type Stage = (next: Handler) => Handler;

/** Answers beyond this are not kept for an event. */
const maxResponseBytes = 4 * 1024 * 1024;
/** Answers in these forms are views of objects, not the objects (K9.3). */
const viewKinds = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

/**
 * Tells the audit backend about requests (K9.3): when they arrive, when a long one begins to be answered, and when they
 * end, in whatever way. Stands behind authentication, so that it knows who asks, and before impersonation, so that it
 * also knows as whom.
 */
export function withAudit(modules: AuditModules): Stage {
  const { policy, clock, annotationsOf } = modules;
  const send = sender(modules);
  return (next) => async (context) => {
    const decision = policy.decide(authorizationAttributesOf(context));
    if (decision.level === 'None') return next(context);
    const trail = new AuditTrail(decision, context.user);
    const now = (): Date => new Date(clock.now());
    context.audit = trail;
    for (const [key, value] of Object.entries(annotationsOf?.(context) ?? {})) trail.annotate(key, value);
    await send(trail.event('RequestReceived', context, now()));
    const exchange = new ObservedExchange(context.exchange, {
      keepBytes: trail.wantsResponse && !isLongRunning(context.info) ? maxResponseBytes : 0,
      onStart: (status) => {
        if (isLongRunning(context.info)) void send(trail.event('ResponseStarted', context, now(), { status }));
      },
    });
    context.exchange = exchange;
    try {
      await next(context);
    } catch (error) {
      // The answer to an error is given at the edge, and is not there yet.
      const stage = isStatusError(error) || context.signal.aborted ? 'ResponseComplete' : 'Panic';
      const status = isStatusError(error) ? error.code : 500;
      await send(trail.event(stage, context, now(), { status, error, responseObject: objectOf(error) }));
      throw error;
    }
    const { status } = exchange;
    await send(
      trail.event('ResponseComplete', context, now(), { status, responseObject: responseObject(exchange.kept()) }),
    );
  };
}

/** Tells about those who could not say who they are; stands before authentication. */
export function withFailedAuthenticationAudit(modules: AuditModules): Stage {
  const { policy, clock, annotationsOf } = modules;
  const send = sender(modules);
  return (next) => async (context) => {
    const tried = methodsOf(context.exchange.headers);
    try {
      await next(context);
    } catch (error) {
      if (context.audit === undefined && isStatusError(error) && error.code === 401) {
        const trail = new AuditTrail(policy.decide(authorizationAttributesOf(context)), context.user);
        for (const [key, value] of Object.entries(annotationsOf?.(context) ?? {})) trail.annotate(key, value);
        const event = trail.event('ResponseComplete', context, new Date(clock.now()), { status: 401 });
        if (event !== undefined && event.level !== 'None') {
          const message = `Authentication failed, ${tried === '' ? 'no credentials provided' : `attempted: ${tried}`}`;
          await send({
            ...event,
            responseStatus: { metadata: {}, status: 'Failure', message, reason: 'Unauthorized', code: 401 },
          });
        }
      }
      throw error;
    }
  };
}

/** A backend that fails only fails the request where it was told to. */
function sender({ backend, isStrict, logger }: AuditModules): (event: AuditEvent | undefined) => Promise<void> {
  return async (event) => {
    if (event === undefined) return;
    try {
      await backend.process(event);
    } catch (error) {
      if (isStrict === true && event.stage === 'RequestReceived') throw error;
      logger.error('an audit event was lost', { error });
    }
  };
}

function methodsOf({ authorization }: Headers): string {
  if (authorization === undefined) return '';
  const text = (typeof authorization === 'string' ? authorization : (authorization[0] ?? '')).toLowerCase();
  return text.startsWith('bearer') ? 'bearer' : text.startsWith('basic') ? 'basic' : '';
}

function objectOf(error: unknown): JsonObject | undefined {
  return isStatusError(error) ? (error.toStatus() as unknown as JsonObject) : undefined;
}

const isView = ({ kind }: JsonObject): boolean => typeof kind === 'string' && viewKinds.has(kind);

/** The object of an answer in JSON; nothing of any other form, and no views of objects. */
function responseObject(body: Buffer | undefined): JsonObject | undefined {
  if (body === undefined || body[0] !== 0x7b) return undefined;
  try {
    const value = parseJson(body);
    return isJsonObject(value) && !isView(value) ? value : undefined;
  } catch {
    // Not an object: a document of another kind that begins with a brace.
    return undefined;
  }
}
