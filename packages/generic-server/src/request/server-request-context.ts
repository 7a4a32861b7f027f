import type { UserInfo } from '@multiplane/apimachinery';
import { RequestWork } from '@multiplane/component-base';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { FlowClass, FlowTicket } from '../flow-control/flow-ticket.ts';
import type { Precondition } from '../lifecycle/precondition.ts';
import type { Exchange } from '../server/exchange.ts';
import type { RequestContext } from './request-context.ts';
import type { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';
import type { ServedResource } from './served-resource.ts';
import { WarningRecorder } from './warning-recorder.ts';

const unauthenticated: UserInfo = Object.freeze({ name: '', uid: '', groups: [], extra: {} });

/** Subresources whose requests are exempt from the deadline and from max-in-flight, as in kube-apiserver. */
const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Where a shard serves its snapshot; it takes as long as the client reads. */
export const snapshotPath = '/snapshot';

/** True for a request whose duration the client chooses. */
export function isLongRunning(info: RequestInfo): boolean {
  if (!info.isResourceRequest)
    return info.isStream === true || (info.path === snapshotPath && info.cluster === undefined);
  return (
    info.verb === 'watch' ||
    info.verb === 'proxy' ||
    (info.subresource !== '' && longRunningSubresources.has(info.subresource))
  );
}

/** The context of a request from a listener. Parts that most requests do not use are created on first use. */
export class ServerRequestContext implements RequestContext {
  /** Replaced by filters that observe the response. */
  exchange: Exchange;
  info: RequestInfo;
  readonly auditId: string;
  readonly receivedAt: number;
  user: UserInfo = unauthenticated;
  /** Set if no workspace has the path of the request. Disclosed only to callers that pass authorization for it. */
  missingWorkspace: { readonly path: string; readonly isOnOtherShard: boolean } | undefined;
  /** Set if the audit policy matches the request. */
  audit: AuditTrail | undefined;
  mount: MountedPath | undefined;
  /** Set if the request executes in an exempt priority level. */
  exemptFlow: FlowClass | undefined;
  ticket: FlowTicket | undefined;
  watchInitialized: (() => void) | undefined;
  preconditions: Precondition[] | undefined;
  /** The resource of the request; undefined before routing. */
  definition: ServedResource | undefined;
  #warnings: WarningRecorder | undefined;
  #work: RequestWork | undefined;
  #controller: AbortController | undefined;
  #cancelled: Error | undefined;
  #finishCallback: (() => void) | undefined;

  constructor(exchange: Exchange, info: RequestInfo, auditId: string, receivedAt: number) {
    this.exchange = exchange;
    this.info = info;
    this.auditId = auditId;
    this.receivedAt = receivedAt;
  }

  /** Sets the callback for the end of the request, successful or not. Only one filter may use it. */
  onFinish(run: () => void): void {
    this.#finishCallback = run;
  }

  /** Called when the handlers have returned. */
  finish(): void {
    this.exemptFlow?.release();
    this.#finishCallback?.();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#cancelled === undefined) {
        const client = this.exchange.signal;
        if (client.aborted) controller.abort(client.reason);
        else client.addEventListener('abort', () => controller.abort(client.reason), { once: true });
      } else {
        controller.abort(this.#cancelled);
      }
    }
    return this.#controller.signal;
  }

  get work(): RequestWork {
    return (this.#work ??= new RequestWork({ flow: this.info.cluster, signal: () => this.signal }));
  }

  /** Aborts {@link signal} with `reason`. */
  cancel(reason: Error): void {
    this.#cancelled ??= reason;
    this.#controller?.abort(reason);
  }

  warn(text: string): void {
    this.#warnings ??= new WarningRecorder();
    if (!this.exchange.headersSent && this.#warnings.add(text))
      this.exchange.setHeader('warning', this.#warnings.headers());
  }
}
