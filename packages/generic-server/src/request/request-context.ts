import type { UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Exchange } from './exchange.ts';
import type { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';

/** All that belongs to one request on its way through the chain. Filters fill it in, endpoints read it. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** Replaced behind authorization, where a resource is told apart from its identity. */
  info: RequestInfo;
  /** Set by authentication; replaced by impersonation. */
  user: UserInfo;
  /** The path leads out of this server. */
  readonly mount?: MountedPath | undefined;
  /** What routing found behind the path, where it has looked. */
  readonly definition?: ResourceDefinition | undefined;
  readonly auditId: string;
  readonly receivedAt: number;
  /** Takes annotations and objects for the audit log; absent where nothing is told of the request. */
  readonly audit?: AuditTrail | undefined;
  /** Aborts when the client is gone, the deadline is over (not for watches) or the server stops. */
  readonly signal: AbortSignal;
  /** Collects texts for `Warning` headers; sent with the answer whatever becomes of the request. */
  warn(text: string): void;
}

/** A stage of the chain: does its part and calls the next, or answers, or throws (a StatusError becomes the answer at the edge). */
export type Handler = (context: RequestContext) => Promise<void>;
export type Filter = (next: Handler) => Handler;
