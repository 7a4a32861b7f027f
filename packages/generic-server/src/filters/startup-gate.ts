import { statusErrors } from '@multiplane/apimachinery';
import type { Filter } from '../request/request-context.ts';
import { writeStatusError } from '../response/responses.ts';
import type { StartupGate } from '../lifecycle/startup-gate.ts';
import { isProbe } from './draining.ts';

/** Responds with 503 and Retry-After until the server has its data, except to probes. */
export function withStartupGate(gate: StartupGate): Filter {
  return (next) => (context) => {
    if (gate.isOpen || isProbe(context.info.path)) return next(context);
    writeStatusError(context, statusErrors.serviceUnavailable('the server is starting', 1));
    return Promise.resolve();
  };
}
