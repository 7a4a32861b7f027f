import { encodeJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { AuditLevel, AuditStage } from './audit-policy.ts';
import { EncodedObject } from './encoded-object.ts';

interface AuditUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** An Event of `audit.k8s.io/v1`: one stage of one request. Fields are in the order of the wire format. */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: JsonObject;
  readonly requestObject?: Json | EncodedObject;
  readonly responseObject?: Json | EncodedObject;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Records events, in order. */
export interface AuditBackend {
  /** Resolves when the event is recorded as the backend's mode requires. Rejects only if the failure must fail the request. */
  process(event: AuditEvent): Promise<void>;
  /** Flushes pending events and closes files and connections. */
  close(): Promise<void>;
}

/** An event as one line of JSON. */
export function encodeAuditEvent(event: AuditEvent): string {
  const { requestObject, responseObject, requestReceivedTimestamp, stageTimestamp, annotations, ...head } = event;
  const objects = `${memberText('requestObject', requestObject)}${memberText('responseObject', responseObject)}`;
  const tail = encodeJson({ requestReceivedTimestamp, stageTimestamp, annotations });
  return `${encodeJson(head).slice(0, -1)}${objects},${tail.slice(1)}`;
}

function memberText(name: string, value: Json | EncodedObject | undefined): string {
  if (value === undefined) return '';
  return `,"${name}":${value instanceof EncodedObject ? value.text : encodeJson(value)}`;
}
