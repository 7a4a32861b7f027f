import type { RestTransport } from '@multiplane/client';
import { retry, type Clock } from '@multiplane/component-base';
import { encodeAuditEvent, type AuditEvent } from './audit-event.ts';

const attempts = 3;
const maxDelayMs = 60_000;

/** Sends events as an EventList to a webhook (K9.3); tries again when it cannot be reached. */
export function auditWebhook(
  options: { readonly path: string; readonly initialBackoffMs: number },
  modules: { readonly transport: RestTransport; readonly clock: Clock },
): (events: readonly AuditEvent[]) => Promise<void> {
  return (events) =>
    retry(
      async () => {
        const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${events.map(encodeAuditEvent).join(',')}]}`;
        const response = await modules.transport.open({ method: 'POST', path: options.path, body });
        response.resume();
        const status = response.statusCode ?? 0;
        if (status < 200 || status >= 300) throw new Error(`the audit webhook answered ${status}`);
      },
      { attempts, initial: options.initialBackoffMs, max: maxDelayMs },
      { clock: modules.clock },
    );
}
