import type { Clock, Logger, Timer } from '@multiplane/component-base';
import type { AuditBackend, AuditEvent } from './audit-event.ts';

export interface BatchingOptions {
  /** Events that wait at most; more are lost, and the log says so. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  readonly maxBatchWaitMs: number;
}

/**
 * Collects events and hands them over in batches, one batch at a time, when there are enough of them or the first has
 * waited long enough. Requests never wait for it. What does not fit is dropped and counted: an audit backend that is
 * down must not take the API with it.
 */
export class BatchingBackend implements AuditBackend {
  readonly #options: BatchingOptions;
  readonly #send: (events: readonly AuditEvent[]) => Promise<void>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #waiting: AuditEvent[] = [];
  #dropped = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(
    options: BatchingOptions,
    modules: {
      /** Hands a batch over; tries again by itself. */
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
    if (this.#waiting.length >= bufferSize) {
      if (this.#dropped++ === 0) this.#logger.warn('audit events are lost: the buffer is full', { bufferSize });
      return Promise.resolve();
    }
    this.#waiting.push(event);
    if (this.#waiting.length >= maxBatchSize) this.#begin();
    else this.#timer ??= this.#clock.after(maxBatchWaitMs, () => this.#begin());
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#begin();
    while (this.#sending !== undefined) await this.#sending;
  }

  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending !== undefined || this.#waiting.length === 0) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#options.maxBatchSize);
      try {
        await this.#send(batch);
      } catch (error) {
        this.#logger.error('audit events were not delivered', { events: batch.length, error });
      }
      if (this.#dropped > 0) {
        this.#logger.warn('audit events were lost', { events: this.#dropped });
        this.#dropped = 0;
      }
    }
  }
}
