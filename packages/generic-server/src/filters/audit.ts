import { isJsonObject, isStatusError, parseJson, type JsonObject } from '@multiplane/apimachinery';
import type { Clock, Logger } from '@multiplane/component-base';
import type { AuditBackend, AuditEvent } from '../audit/audit-event.ts';
import type { AuditPolicy } from '../audit/audit-policy.ts';
import { AuditContext } from '../audit/audit-context.ts';
import { encodedResponse, largeObjectBytes, type EncodedObject } from '../audit/encoded-object.ts';
import type { Headers } from '../server/exchange.ts';
import { ObservedExchange } from '../server/observed-exchange.ts';
import { isLongRunning, type ServerRequestContext } from '../request/server-request-context.ts';
import { authorizationAttributesOf } from './authorization.ts';

export interface AuditModules {
  readonly policy: AuditPolicy;
  readonly backend: AuditBackend;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rejects requests whose first event cannot be recorded (`blocking-strict`). */
  readonly isStrict?: boolean | undefined;
  /** Annotations that the server adds to every event. */
  readonly annotationsOf?: ((context: ServerRequestContext) => Readonly<Record<string, string>>) | undefined;
}

type Handler = (context: ServerRequestContext) => Promise<void>;
type Stage = (next: Handler) => Handler;

/** Larger response bodies are not recorded. */
const maxResponseBytes = 4 * 1024 * 1024;
/** Kinds that transform an object; like kube-apiserver, events do not contain them. */
const transformedKinds = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

/**
 * Sends the audit events of requests: `RequestReceived`, `ResponseStarted` for long-running requests, and
 * `ResponseComplete` or `Panic`. The filter follows authentication, so that events name the caller, and precedes
 * impersonation, so that they also name the impersonated user.
 *
 * A request that another server in this process has audited and passed on has its event already.
 */
export function withAudit(modules: AuditModules): Stage {
  const { policy, clock, annotationsOf } = modules;
  const send = eventSender(modules);
  return (next) => async (context) => {
    const { auditTrail } = context.exchange;
    if (auditTrail !== undefined) {
      context.audit = auditTrail;
      return next(context);
    }
    const decision = policy.decide(authorizationAttributesOf(context));
    if (decision.level === 'None') return next(context);
    const trail = new AuditContext(decision, context.user, context.info.cluster);
    const now = (): Date => new Date(clock.now());
    context.audit = trail;
    for (const [key, value] of Object.entries(annotationsOf?.(context) ?? {})) trail.annotate(key, value);
    await send(trail.event('RequestReceived', context, now()));
    const exchange = new ObservedExchange(context.exchange, {
      auditTrail: trail,
      maxBodyBytes: trail.wantsResponse && !isLongRunning(context.info) ? maxResponseBytes : 0,
      onStart: (status) => {
        if (isLongRunning(context.info)) void send(trail.event('ResponseStarted', context, now(), { status }));
      },
    });
    context.exchange = exchange;
    try {
      await next(context);
    } catch (error) {
      // RequestLifecycle responds to the error later, so the status is derived from the error.
      const stage = isStatusError(error) || context.signal.aborted ? 'ResponseComplete' : 'Panic';
      const status = isStatusError(error) ? error.code : 500;
      await send(trail.event(stage, context, now(), { status, error, responseObject: statusOf(error) }));
      throw error;
    }
    const { status } = exchange;
    const body = exchange.body();
    const responseObject =
      body === undefined || body.length < largeObjectBytes
        ? objectOf(body)
        : await largeObjectOf(body, trail, context.info.cluster);
    await send(trail.event('ResponseComplete', context, now(), { status, responseObject }));
  };
}

/** Sends the audit event of requests that fail authentication. The filter precedes authentication. */
export function withFailedAuthenticationAudit(modules: AuditModules): Stage {
  const { policy, clock, annotationsOf } = modules;
  const send = eventSender(modules);
  return (next) => async (context) => {
    const attempted = credentialMethod(context.exchange.headers);
    try {
      await next(context);
    } catch (error) {
      if (context.audit === undefined && isStatusError(error) && error.code === 401) {
        const trail = new AuditContext(policy.decide(authorizationAttributesOf(context)), context.user);
        for (const [key, value] of Object.entries(annotationsOf?.(context) ?? {})) trail.annotate(key, value);
        const event = trail.event('ResponseComplete', context, new Date(clock.now()), { status: 401 });
        if (event !== undefined && event.level !== 'None') {
          const message = `Authentication failed, ${attempted === '' ? 'no credentials provided' : `attempted: ${attempted}`}`;
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

/** A failing backend fails the request only in strict mode. */
function eventSender({ backend, isStrict, logger }: AuditModules): (event: AuditEvent | undefined) => Promise<void> {
  return async (event) => {
    if (event === undefined) return;
    try {
      await backend.process(event);
    } catch (error) {
      if (isStrict === true && event.stage === 'RequestReceived') throw error;
      logger.error('failed to record an audit event', { error });
    }
  };
}

function credentialMethod({ authorization }: Headers): string {
  if (authorization === undefined) return '';
  const text = (typeof authorization === 'string' ? authorization : (authorization[0] ?? '')).toLowerCase();
  return text.startsWith('bearer') ? 'bearer' : text.startsWith('basic') ? 'basic' : '';
}

function statusOf(error: unknown): JsonObject | undefined {
  return isStatusError(error) ? (error.toStatus() as unknown as JsonObject) : undefined;
}

const isTransformed = ({ kind }: JsonObject): boolean => typeof kind === 'string' && transformedKinds.has(kind);
const openingBrace = 0x7b;

/** {@link objectOf} of a large response, without parsing what the server has encoded. */
async function largeObjectOf(
  body: Buffer,
  { omitsManagedFields }: AuditContext,
  lane: string | undefined,
): Promise<EncodedObject | undefined> {
  if (body[0] !== openingBrace) return undefined;
  return encodedResponse(body, { accepts: (kind) => !transformedKinds.has(kind), omitsManagedFields, lane });
}

/** The object of a JSON response; undefined for other encodings and for transformed objects. */
function objectOf(body: Buffer | undefined): JsonObject | undefined {
  if (body?.[0] !== openingBrace) return undefined;
  try {
    const value = parseJson(body);
    return isJsonObject(value) && !isTransformed(value) ? value : undefined;
  } catch {
    // Not JSON, although it begins with a brace.
    return undefined;
  }
}
