import type { UserInfo } from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { FlowTicket } from '../flow-control/flow-ticket.ts';
import type { Precondition } from '../lifecycle/precondition.ts';
import type { Exchange } from '../server/exchange.ts';
import type { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';
import type { ServedResource } from './served-resource.ts';

/** State of one request in the handler chain: filters write it, endpoints read it. */
export interface RequestContext {
  readonly exchange: Exchange;
  /** Replaced after authorization, where `<resource>:<identity>` is split. */
  info: RequestInfo;
  /** Set by authentication; replaced by impersonation. */
  user: UserInfo;
  /** Set if the path leads through a mounted workspace. */
  readonly mount?: MountedPath | undefined;
  /** The resource of the request; undefined before routing. */
  readonly definition?: ServedResource | undefined;
  readonly auditId: string;
  readonly receivedAt: number;
  /** Collects annotations and objects for the audit log; absent if the request is not audited. */
  readonly audit?: AuditTrail | undefined;
  /** Of a long-running request: what it was admitted for. Filters append to it. */
  readonly preconditions?: Precondition[] | undefined;
  /** Its place in priority and fairness; absent if it executes in an exempt priority level. */
  readonly ticket?: FlowTicket | undefined;
  /** Aborts when the client disconnects, the deadline is exceeded (not for watches), the server stops or a precondition ends. */
  readonly signal: AbortSignal;
  /** The work for this request; the stages of its endpoint share it. */
  readonly work: RequestWork;
  /** To be called once a watch has sent its initial events and is subscribed: it then occupies no seat any more. */
  readonly watchInitialized?: (() => void) | undefined;
  /** Adds a `Warning` header to the response, also to an error. */
  warn(text: string): void;
}

/** A stage of the chain: calls the next one, responds, or throws (the lifecycle responds with a StatusError). */
export type Handler = (context: RequestContext) => Promise<void>;
export type Filter = (next: Handler) => Handler;
