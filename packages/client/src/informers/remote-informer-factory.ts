import { apiVersionOf, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { failureLevel, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import type { Informer, InformerSource } from '../lister.ts';
import type { ReflectorOptions } from '../reflector/reflector.ts';
import type { RestTransport } from '../rest-transport.ts';
import { RemoteInformer, type Keep } from './remote-informer.ts';

export interface RemoteInformerFactoryOptions extends Omit<ReflectorOptions, 'resource'> {
  /** What is kept of the objects of a resource; whole objects unless told otherwise. */
  readonly keep?: ((resource: GroupVersionResource) => Keep) | undefined;
}

export interface RemoteInformerFactoryModules {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/**
 * Informers over the wildcard lists and watches of another server: a shard, or all shards by way of the cache server
 * (`pathPrefix` `/services/cache/shards/*`). One connection per resource that somebody asked for, made at the start or
 * when it is first asked for after that; a server that is not there yet is waited for by {@link synced}, not by the start.
 */
export class RemoteInformerFactory implements InformerSource, Runnable {
  readonly name = 'remote informers';
  readonly #options: RemoteInformerFactoryOptions;
  readonly #modules: RemoteInformerFactoryModules;
  readonly #informers = new Map<string, RemoteInformer>();
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#ended.promise;
  readonly #running: Promise<void>[] = [];
  #started = false;
  #hasFailed = false;

  constructor(options: RemoteInformerFactoryOptions, modules: RemoteInformerFactoryModules) {
    this.#options = options;
    this.#modules = modules;
    this.ended.catch(() => {});
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const key = `${apiVersionOf(resource)}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = this.#make(resource, key);
      this.#informers.set(key, informer);
      if (this.#started) this.#run(informer);
    }
    return informer as unknown as Informer<T>;
  }

  /** Resolves when every informer that was asked for so far knows the state of the server. */
  get synced(): Promise<void> {
    return Promise.all([...this.#informers.values()].map(({ synced }) => synced)).then(() => {});
  }

  /** The server was away, or refused something, at least once. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** For readiness: throws why one of the informers does not follow the server. */
  check(): void {
    for (const [key, { failure }] of this.#informers)
      if (failure !== undefined) throw new Error(`${key}: ${failure.message}`, { cause: failure });
  }

  /** Begins to follow; the signal ends it as {@link stop} does. */
  async start(signal?: AbortSignal): Promise<void> {
    this.#started = true;
    if (signal?.aborted === true) this.#abort.abort(signal.reason);
    signal?.addEventListener('abort', () => this.#abort.abort(signal.reason), { once: true });
    for (const informer of this.#informers.values()) this.#run(informer);
  }

  /** Resolves when nothing follows any more. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await Promise.allSettled(this.#running);
    this.#ended.resolve();
  }

  #run(informer: RemoteInformer): void {
    const running = informer.run(this.#abort.signal);
    running.catch((error: unknown) => this.#ended.reject(error));
    this.#running.push(running);
  }

  #make(resource: GroupVersionResource, key: string): RemoteInformer {
    const { keep, ...options } = this.#options;
    const { transport, clock, logger, random } = this.#modules;
    return new RemoteInformer(
      { ...options, resource, keep: keep?.(resource) },
      {
        transport,
        clock,
        random,
        onFailure: (error, { pauseMs, failures }) => {
          this.#hasFailed = true;
          logger[failureLevel(failures)]('following a server failed', {
            resource: key,
            failures,
            pauseMs: Math.round(pauseMs),
            error,
          });
        },
      },
    );
  }
}
