import type { Json, JsonObject } from '@multiplane/apimachinery';
import type { AuditLevel, AuditStage } from './audit-policy.ts';

interface AuditUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** One stage of one request as `audit.k8s.io/v1` tells it (K9.3), in the order of the fields on the wire. */
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

/** Takes events, in order. */
export interface AuditBackend {
  /** Resolves when the event is where the backend's mode promises it to be. Rejects only where a failure must fail the request. */
  process(event: AuditEvent): Promise<void>;
  /** Writes what waits, and gives back files and connections. */
  close(): Promise<void>;
}

/** An event in one line of JSON. */
export const encodeAuditEvent = (event: AuditEvent): string => JSON.stringify(event, bigints);

/** Integers beyond 2^53 in objects stay what they are to within a double; an audit log is read by people. */
const bigints = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
