import type { Clock, Logger, Timer } from '@multiplane/component-base';
import type { AuditBackend, AuditEvent } from './audit-event.ts';

export interface BatchingOptions {
  /** Maximum number of buffered events; further events are dropped and reported in the log. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  readonly maxBatchWaitMs: number;
}

/**
 * Buffers events and sends them in batches, one batch at a time, when a batch is full or its first event has waited long
 * enough. Requests never wait. Events beyond the buffer are dropped and counted, so that an unavailable audit backend does not
 * affect the API.
 */
export class BatchingBackend implements AuditBackend {
  readonly #options: BatchingOptions;
  readonly #send: (events: readonly AuditEvent[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #buffer: AuditEvent[] = [];
  #dropped = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(
    options: BatchingOptions,
    modules: {
      /** Sends a batch, including retries. */
      readonly send: (events: readonly AuditEvent[]) => Promise<void>;
      readonly clock: Clock;
      readonly logger: Logger;
    },
  ) {
    this.#options = options;
    this.#send = modules.send;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
  }

  process(event: AuditEvent): Promise<void> {
    const { bufferSize, maxBatchSize, maxBatchWaitMs } = this.#options;
    if (this.#buffer.length >= bufferSize) {
      if (this.#dropped++ === 0) this.#logger.warn('dropping audit events: buffer is full', { bufferSize });
      return Promise.resolve();
    }
    this.#buffer.push(event);
    if (this.#buffer.length >= maxBatchSize) this.#flush();
    else this.#timer ??= this.#clock.after(maxBatchWaitMs, () => this.#flush());
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#flush();
    while (this.#sending !== undefined) await this.#sending;
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending !== undefined || this.#buffer.length === 0) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#buffer.length > 0) {
      const batch = this.#buffer.splice(0, this.#options.maxBatchSize);
      try {
        await this.#send(batch);
      } catch (error) {
        this.#logger.error('failed to send audit events', { events: batch.length, error });
      }
      if (this.#dropped > 0) {
        this.#logger.warn('dropped audit events', { events: this.#dropped });
        this.#dropped = 0;
      }
    }
  }
}
