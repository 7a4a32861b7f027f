import type { Clock } from '../clock/clock.ts';
import type { LogFields, Logger } from './logger.ts';

/** Lines per window: enough to see several faults that occur together. */
const maxLines = 10;
const windowMs = 60_000;

/**
 * Logs errors that a client may be able to cause by requests, so that no client can fill the log: at most ten lines a minute.
 * The next line after omitted ones has their number.
 */
export class LimitedErrors {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #windowStart = -Infinity;
  #lines = 0;
  #omitted = 0;

  constructor(modules: { readonly logger: Logger; readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#logger = modules.logger;
    this.#clock = modules.clock;
  }

  error(message: string, fields: LogFields): void {
    const now = this.#clock.monotonic();
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#lines = 0;
    }
    if (this.#lines >= maxLines) {
      this.#omitted++;
      return;
    }
    this.#lines++;
    this.#logger.error(message, this.#omitted === 0 ? fields : { ...fields, omitted: this.#omitted });
    this.#omitted = 0;
  }
}
