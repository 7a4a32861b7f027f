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
import type { Exchange, Headers } from '../server/exchange.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { AuditEvent } from './audit-event.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { AuditDecision, AuditStage } from './audit-policy.ts';
import { checkLarge, EncodedObject, encodeLarge, largeObjectBytes } from './encoded-object.ts';

const maxUserAgent = 1024;
const truncationMark = '...TRUNCATED';
const maxAnnotations = 64;

/** The parts of a request that events contain; every RequestContext satisfies it. */
export interface AuditedRequest {
  readonly exchange: Pick<Exchange, 'headers' | 'socket' | 'url'>;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly auditId: string;
  readonly receivedAt: number;
}

/** Collects the audit data of one request while it is processed, like `audit.AuditContext` of kube-apiserver. */
export class AuditContext implements AuditTrail {
  readonly #decision: AuditDecision;
  readonly #user: UserInfo;
  /** The logical cluster whose turns of the event loop large objects take. */
  readonly #lane: string | undefined;
  readonly #annotations: Record<string, string> = Object.create(null) as Record<string, string>;
  #annotationCount = 0;
  #requestObject: Json | EncodedObject | undefined;
  #objectName: { readonly name: string; readonly namespace: string; readonly uid: string } | undefined;

  constructor(decision: AuditDecision, user: UserInfo, lane?: string) {
    this.#decision = decision;
    this.#user = user;
    this.#lane = lane;
  }

  get wantsResponse(): boolean {
    return this.#decision.level === 'RequestResponse';
  }

  get omitsManagedFields(): boolean {
    return this.#decision.omitManagedFields;
  }

  annotate(key: string, value: string, level?: 'Request'): void {
    if (level === 'Request' && !this.#wantsRequest) return;
    if (key in this.#annotations || this.#annotationCount >= maxAnnotations) return;
    this.#annotations[key] = value;
    this.#annotationCount++;
  }

  requestObject(object: DeepReadonly<KubeObject>, bytes: number): Promise<void> | undefined {
    const { name = '', namespace = '', uid = '' } = object.metadata;
    this.#objectName = { name, namespace, uid };
    if (!this.#wantsRequest) return undefined;
    if (bytes >= largeObjectBytes) return this.#recordLarge(object as unknown as Json);
    this.#requestObject = structuredClone(object) as unknown as Json;
    return undefined;
  }

  async #recordLarge(object: Json): Promise<void> {
    this.#requestObject = await encodeLarge(this.#withoutManagedFields(object), this.#lane);
  }

  requestPatch(body: Buffer): Promise<void> | undefined {
    if (!this.#wantsRequest) return undefined;
    if (body.length >= largeObjectBytes) return this.#recordLargePatch(body);
    try {
      this.#requestObject = parseJson(body);
    } catch {
      this.#requestObject = undefined;
    }
    return undefined;
  }

  async #recordLargePatch(body: Buffer): Promise<void> {
    this.#requestObject = await checkLarge(body, this.#lane);
  }

  get #wantsRequest(): boolean {
    return this.#decision.level === 'Request' || this.#decision.level === 'RequestResponse';
  }

  /** The event of a stage; undefined if the policy omits the stage. */
  event(
    stage: AuditStage,
    request: AuditedRequest,
    at: Date,
    outcome: {
      readonly status?: number;
      readonly error?: unknown;
      readonly responseObject?: JsonObject | EncodedObject | undefined;
    } = {},
  ): AuditEvent | undefined {
    if (this.#decision.omitStages.has(stage)) return undefined;
    const { exchange, info } = request;
    const agent = exchange.headers['user-agent'];
    const addresses = sourceAddresses(exchange.headers, exchange.socket.remoteAddress);
    const responseStatus = statusOf(outcome);
    const done = stage === 'ResponseComplete';
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#decision.level,
      auditID: request.auditId,
      stage,
      requestURI: exchange.url,
      verb: info.verb,
      user: userOf(this.#user),
      ...(request.user.name === this.#user.name ? {} : { impersonatedUser: userOf(request.user) }),
      ...(addresses.length === 0 ? {} : { sourceIPs: addresses }),
      ...(typeof agent === 'string' ? { userAgent: truncate(agent) } : {}),
      ...(info.isResourceRequest ? { objectRef: this.#objectRef(info) } : {}),
      ...(responseStatus === undefined ? {} : { responseStatus }),
      ...(stage === 'RequestReceived' || this.#requestObject === undefined
        ? {}
        : { requestObject: this.#withoutManagedFields(this.#requestObject) }),
      ...(done && outcome.responseObject !== undefined
        ? { responseObject: this.#withoutManagedFields(outcome.responseObject) }
        : {}),
      requestReceivedTimestamp: formatMicroTime(new Date(request.receivedAt)),
      stageTimestamp: formatMicroTime(at),
      ...(this.#annotationCount === 0 ? {} : { annotations: { ...this.#annotations } }),
    };
  }

  #objectRef(info: RequestInfo): Record<string, string> {
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

  #withoutManagedFields<T extends Json>(value: T): Json;
  #withoutManagedFields(value: Json | EncodedObject): Json | EncodedObject;
  #withoutManagedFields(value: Json | EncodedObject): Json | EncodedObject {
    if (value instanceof EncodedObject || !this.#decision.omitManagedFields || !isJsonObject(value)) return value;
    const { metadata } = value;
    if (!isJsonObject(metadata) || metadata['managedFields'] === undefined) return value;
    const { managedFields: _omitted, ...rest } = metadata;
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

const truncate = (agent: string): string =>
  agent.length > maxUserAgent ? agent.slice(0, maxUserAgent) + truncationMark : agent;

/** Source addresses: those reported by proxies, then the address of the peer. */
function sourceAddresses(headers: Headers, remote: string | undefined): string[] {
  const list = (value: string | readonly string[] | undefined): string[] =>
    value === undefined
      ? []
      : (typeof value === 'string' ? value : value.join(',')).split(',').map((part) => part.trim());
  const all = [...list(headers['x-forwarded-for']), ...list(headers['x-real-ip']), ...list(remote)];
  return [...new Set(all.filter((address) => address !== ''))];
}
