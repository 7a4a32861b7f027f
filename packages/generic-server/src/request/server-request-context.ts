import type { UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Exchange } from './exchange.ts';
import type { RequestContext } from './request-context.ts';
import type { MountedPath } from './mounted-path.ts';
import type { RequestInfo } from './request-info.ts';
import { WarningRecorder } from './warning-recorder.ts';

const nobody: UserInfo = Object.freeze({ name: '', uid: '', groups: [], extra: {} });

/** The verbs and subresources that the deadline and max-in-flight leave alone (K1.3). */
const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** True for a request that lasts as long as the client wants. */
export function isLongRunning(info: RequestInfo): boolean {
  return (
    info.isResourceRequest &&
    (info.verb === 'watch' ||
      info.verb === 'proxy' ||
      (info.subresource !== '' && longRunningSubresources.has(info.subresource)))
  );
}

/** The context of a request that came through a socket. What most requests never ask for is made when asked. */
export class ServerRequestContext implements RequestContext {
  /** Replaced by a stage that watches the answer. */
  exchange: Exchange;
  info: RequestInfo;
  readonly auditId: string;
  readonly receivedAt: number;
  user: UserInfo = nobody;
  /** The workspace path of the request when there is none of it; told only to those whom nothing is hidden from. */
  missingWorkspace: { readonly path: string; readonly isElsewhere: boolean } | undefined;
  /** What is told of the request, where a policy wants it told. */
  audit: AuditTrail | undefined;
  mount: MountedPath | undefined;
  /** What routing found behind the path. */
  definition: ResourceDefinition | undefined;
  #warnings: WarningRecorder | undefined;
  #controller: AbortController | undefined;
  #cancelled: Error | undefined;
  #whenOver: (() => void) | undefined;

  constructor(exchange: Exchange, info: RequestInfo, auditId: string, receivedAt: number) {
    this.exchange = exchange;
    this.info = info;
    this.auditId = auditId;
    this.receivedAt = receivedAt;
  }

  /** Has something done at the end of the request, whatever becomes of it. One stage alone asks for that. */
  whenOver(run: () => void): void {
    this.#whenOver = run;
  }

  /** The handlers are done with the request. */
  over(): void {
    this.#whenOver?.();
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
