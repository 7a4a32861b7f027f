import {
  formatMicroTime,
  isJsonObject,
  isStatusError,
  parseJson,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { Headers } from '../exchange.ts';
import type { RequestContext } from '../request-context.ts';
import type { AuditEvent } from './audit-event.ts';
import type { AuditDecision, AuditStage } from './audit-policy.ts';

const maxUserAgent = 1024;
const truncated = '...TRUNCATED';
const maxAnnotations = 64;

/** What becomes known of one request while it is worked on. */
export class AuditTrail {
  readonly #decision: AuditDecision;
  readonly #user: UserInfo;
  readonly #annotations: Record<string, string> = Object.create(null) as Record<string, string>;
  #known = 0;
  #requestObject: Json | undefined;
  #objectName: { readonly name: string; readonly namespace: string; readonly uid: string } | undefined;

  constructor(decision: AuditDecision, user: UserInfo) {
    this.#decision = decision;
    this.#user = user;
  }

  get wantsResponse(): boolean {
    return this.#decision.level === 'RequestResponse';
  }

  /** The first value of a key stays: a later stage of the chain cannot rewrite what an earlier one said. */
  annotate(key: string, value: string, level?: 'Request'): void {
    if (level === 'Request' && !this.#wantsRequest) return;
    if (key in this.#annotations || this.#known >= maxAnnotations) return;
    this.#annotations[key] = value;
    this.#known++;
  }

  /** The object a client sent, as decoded in the version of the request. What becomes of it later is not told. */
  requestObject(object: DeepReadonly<KubeObject>): void {
    const { name = '', namespace = '', uid = '' } = object.metadata;
    this.#objectName = { name, namespace, uid };
    if (this.#wantsRequest) this.#requestObject = structuredClone(object) as unknown as Json;
  }

  /** A patch in JSON, as it came. One in YAML is left out: to read it once more would cost more than it tells. */
  requestPatch(body: Buffer): void {
    if (!this.#wantsRequest) return;
    try {
      this.#requestObject = parseJson(body);
    } catch {
      this.#requestObject = undefined;
    }
  }

  get #wantsRequest(): boolean {
    return this.#decision.level === 'Request' || this.#decision.level === 'RequestResponse';
  }

  /** The event of a stage; undefined where the policy leaves it out. */
  event(
    stage: AuditStage,
    context: RequestContext,
    at: Date,
    outcome: {
      readonly status?: number;
      readonly error?: unknown;
      readonly responseObject?: JsonObject | undefined;
    } = {},
  ): AuditEvent | undefined {
    if (this.#decision.omitStages.has(stage)) return undefined;
    const { exchange, info } = context;
    const agent = exchange.headers['user-agent'];
    const addresses = sourceAddresses(exchange.headers, exchange.socket.remoteAddress);
    const responseStatus = statusOf(outcome);
    const done = stage === 'ResponseComplete';
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#decision.level,
      auditID: context.auditId,
      stage,
      requestURI: exchange.url,
      verb: info.verb,
      user: userOf(this.#user),
      ...(context.user.name === this.#user.name ? {} : { impersonatedUser: userOf(context.user) }),
      ...(addresses.length === 0 ? {} : { sourceIPs: addresses }),
      ...(typeof agent === 'string' ? { userAgent: shortened(agent) } : {}),
      ...(info.isResourceRequest ? { objectRef: this.#objectRef(context) } : {}),
      ...(responseStatus === undefined ? {} : { responseStatus }),
      ...(stage === 'RequestReceived' || this.#requestObject === undefined
        ? {}
        : { requestObject: this.#shown(this.#requestObject) }),
      ...(done && outcome.responseObject !== undefined ? { responseObject: this.#shown(outcome.responseObject) } : {}),
      requestReceivedTimestamp: formatMicroTime(new Date(context.receivedAt)),
      stageTimestamp: formatMicroTime(at),
      ...(this.#known === 0 ? {} : { annotations: { ...this.#annotations } }),
    };
  }

  #objectRef({ info }: RequestContext): Record<string, string> {
    const sent = this.#objectName;
    const fields = {
      resource: info.resource,
      namespace: info.namespace === '' ? (sent?.namespace ?? '') : info.namespace,
      name: info.name === '' ? (sent?.name ?? '') : info.name,
      uid: sent?.uid ?? '',
      apiGroup: info.group,
      apiVersion: info.version,
      subresource: info.subresource,
    };
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
  }

  #shown(value: Json): Json {
    if (!this.#decision.omitManagedFields || !isJsonObject(value)) return value;
    const { metadata } = value;
    if (!isJsonObject(metadata) || metadata['managedFields'] === undefined) return value;
    const { managedFields: _left, ...rest } = metadata;
    return { ...value, metadata: rest };
  }
}

function statusOf({ status, error }: { readonly status?: number; readonly error?: unknown }): JsonObject | undefined {
  if (isStatusError(error)) {
    const { kind: _kind, apiVersion: _version, ...fields } = error.toStatus();
    return fields as unknown as JsonObject;
  }
  return status === undefined ? undefined : { metadata: {}, code: status };
}

const userOf = ({ name, uid, groups, extra }: UserInfo): AuditEvent['user'] => ({
  ...(name === '' ? {} : { username: name }),
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra: { ...extra } }),
});

const shortened = (agent: string): string =>
  agent.length > maxUserAgent ? agent.slice(0, maxUserAgent) + truncated : agent;

/** Whom the request came from, as far as proxies tell; the peer last. */
function sourceAddresses(headers: Headers, remote: string | undefined): string[] {
  const list = (value: string | readonly string[] | undefined): string[] =>
    value === undefined
      ? []
      : (typeof value === 'string' ? value : value.join(',')).split(',').map((part) => part.trim());
  const all = [...list(headers['x-forwarded-for']), ...list(headers['x-real-ip']), ...list(remote)];
  return [...new Set(all.filter((address) => address !== ''))];
}
