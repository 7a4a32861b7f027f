import type { Clock, Logger, Timer } from '@multiplane/component-base';
import { parseDuration } from '@multiplane/component-base';
import type { KmsProvider } from '../encryption-configuration.ts';
import type { ValueTransformer } from '../value-transformer.ts';
import { KmsClient } from './kms-client.ts';
import { KmsTransformer } from './kms-transformer.ts';

export interface KmsProvidersModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

const defaultTimeoutMs = 3000;
const probeIntervalMs = 60_000;
const retryIntervalMs = 10_000;
/** A provider that a reload removed finishes its requests, unless the process stops. */
const closeAfterMs = 30_000;

/**
 * The KMS plugins of the current configuration. A plugin is probed every minute, after a failure every ten seconds. A
 * reload keeps the plugins that did not change, with their seeds; one that is new must respond before the new configuration
 * takes effect.
 */
export class KmsProviders {
  readonly #modules: KmsProvidersModules;
  #current = new Map<string, KmsTransformer>();
  #timer: Timer | undefined;
  #waiting: (() => void)[] = [];

  constructor(modules: KmsProvidersModules) {
    this.#modules = modules;
    modules.signal.addEventListener('abort', () => this.#close(), { once: true });
  }

  /**
   * Builds a configuration with `build`, to which it passes how to connect a plugin. Plugins are probed once. Rejects,
   * without effect, when the configuration is invalid, or when `mustRespond` and a new plugin does not respond.
   */
  async replace<T>(
    build: (connect: (provider: KmsProvider) => ValueTransformer) => T,
    { mustRespond }: { readonly mustRespond: boolean },
  ): Promise<T> {
    const next = new Map<string, KmsTransformer>();
    const added: KmsTransformer[] = [];
    const connect = (provider: KmsProvider): ValueTransformer => {
      const id = JSON.stringify(provider);
      let transformer = this.#current.get(id);
      if (transformer === undefined) added.push((transformer = this.#connect(provider)));
      next.set(id, transformer);
      return transformer;
    };
    let built: T;
    try {
      built = build(connect);
      await Promise.all(added.map((transformer) => transformer.probe()));
      const failed = added.find(({ failure }) => failure !== undefined)?.failure;
      if (mustRespond && failed !== undefined) throw failed;
    } catch (error) {
      for (const transformer of added) transformer.close();
      throw error;
    }
    const removed = [...this.#current].filter(([id]) => !next.has(id));
    this.#current = next;
    if (removed.length > 0) this.#closeLater(removed.map(([, transformer]) => transformer));
    this.#schedule();
    return built;
  }

  /** Rejects with the reason when the last probe of a plugin failed; for readiness. */
  async check(): Promise<void> {
    for (const { failure } of this.#current.values()) if (failure !== undefined) throw failure;
  }

  /** Resolves once the last probe of every plugin succeeded; to true if the caller had to wait. */
  async responding(): Promise<boolean> {
    const waits = this.#hasFailed;
    if (waits) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return waits;
  }

  get #hasFailed(): boolean {
    return [...this.#current.values()].some(({ failure }) => failure !== undefined);
  }

  #connect({ apiVersion = 'v1', name = '', endpoint = '', timeout }: KmsProvider): KmsTransformer {
    if (apiVersion !== 'v2')
      throw new Error(`unsupported apiVersion ${apiVersion} for KMS provider, only v2 is supported`);
    if (endpoint === '') throw new Error('endpoint: Required value: endpoint is a mandatory field for a provider');
    const timeoutMs = timeout === undefined ? defaultTimeoutMs : parseDuration(timeout);
    if (!(timeoutMs > 0)) throw new Error('timeout: should be a positive value');
    const { clock } = this.#modules;
    return new KmsTransformer({ name }, { service: new KmsClient({ endpoint, timeoutMs }), clock });
  }

  #closeLater(removed: readonly KmsTransformer[]): void {
    const close = (): void => {
      for (const transformer of removed) transformer.close();
    };
    const { clock, signal } = this.#modules;
    // A pending timer would keep a process alive that has stopped.
    clock.sleep(closeAfterMs, signal).then(close, close);
  }

  #schedule(): void {
    this.#timer?.cancel();
    if (this.#modules.signal.aborted) return;
    const isFailing = this.#hasFailed;
    if (!isFailing) for (const resolve of this.#waiting.splice(0)) resolve();
    if (this.#current.size === 0) return;
    this.#timer = this.#modules.clock.after(isFailing ? retryIntervalMs : probeIntervalMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    const { logger } = this.#modules;
    for (const transformer of this.#current.values()) {
      await transformer.probe();
      if (transformer.failure !== undefined) logger.warn('KMS plugin is not healthy', { error: transformer.failure });
    }
    this.#schedule();
  }

  #close(): void {
    this.#timer?.cancel();
    for (const transformer of this.#current.values()) transformer.close();
  }
}
