import type { Json, JsonObject } from '@multiplane/apimachinery';
import type { AuditLevel, AuditStage } from './audit-policy.ts';

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
  readonly requestObject?: Json;
  readonly responseObject?: Json;
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
export const encodeAuditEvent = (event: AuditEvent): string => JSON.stringify(event, bigints);

/** Integers above 2^53 lose precision, which is acceptable in an audit log. */
const bigints = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
