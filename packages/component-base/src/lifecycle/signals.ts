import type { Logger } from '../logging/logger.ts';

/** The part of `process` that receives signals. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: string) => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: (signal: string) => void): unknown;
}

export interface SignalModules {
  readonly source: SignalSource;
  readonly logger: Logger;
  /** Called on the second signal, which skips the graceful shutdown. */
  readonly forceExit: (code: number) => void;
}

/** The abort signal of a process: aborted by SIGINT or SIGTERM. Disposing removes the listeners. */
export class ShutdownSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #modules: SignalModules;
  readonly #listener = (name: string): void => this.#received(name);

  constructor(modules: SignalModules) {
    this.#modules = modules;
    modules.source.on('SIGINT', this.#listener);
    modules.source.on('SIGTERM', this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#modules.source.off('SIGINT', this.#listener);
    this.#modules.source.off('SIGTERM', this.#listener);
  }

  #received(name: string): void {
    if (this.#controller.signal.aborted) {
      this.#modules.logger.warn('second signal, exiting immediately', { signal: name });
      this.#modules.forceExit(130);
      return;
    }
    this.#modules.logger.info('shutting down', { signal: name });
    this.#controller.abort(new Error(`received ${name}`));
  }
}
