import type { RestTransport } from '@multiplane/client';
import { retry, type Clock } from '@multiplane/component-base';
import { encodeAuditEvent, type AuditEvent } from './audit-event.ts';

const attempts = 3;
/** The timeout of kube-apiserver's webhooks. */
const timeoutMs = 30_000;
const maxDelayMs = 60_000;

/** Sends events as an EventList to a webhook. Retries failed calls. */
export function auditWebhook(
  options: { readonly path: string; readonly initialBackoffMs: number },
  modules: { readonly transport: RestTransport; readonly clock: Clock },
): (events: readonly AuditEvent[]) => Promise<void> {
  return (events) =>
    retry(
      async () => {
        const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${events.map(encodeAuditEvent).join(',')}]}`;
        const timeout = new AbortController();
        const timer = modules.clock.after(timeoutMs, () =>
          timeout.abort(new Error(`the audit webhook did not respond within ${timeoutMs} ms`)),
        );
        try {
          const request = { method: 'POST', path: options.path, body, signal: timeout.signal };
          const response = await modules.transport.open(request);
          response.resume();
          const status = response.statusCode ?? 0;
          if (status < 200 || status >= 300) throw new Error(`the audit webhook responded with status ${status}`);
        } finally {
          timer.cancel();
        }
      },
      { attempts, initial: options.initialBackoffMs, max: maxDelayMs },
      { clock: modules.clock },
    );
}
