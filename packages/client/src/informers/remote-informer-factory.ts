import { apiVersionOf, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import { failureLevel, type Clock, type Logger, type Runnable } from '@multiplane/component-base';
import type { InformerSource } from '../lister.ts';
import type { ReflectorOptions } from '../reflector/reflector.ts';
import type { RestTransport } from '../rest-transport.ts';
import { RemoteInformer, type ObjectTransform } from './remote-informer.ts';

export interface RemoteInformerFactoryOptions extends Omit<ReflectorOptions, 'resource'> {
  /** Transform of the objects of a resource, as client-go's TransformFunc; whole objects by default. */
  readonly transform?: ((resource: GroupVersionResource) => ObjectTransform) | undefined;
}

export interface RemoteInformerFactoryModules {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
  /** Called when a list or a watch of a resource fails; it is repeated. */
  readonly onFailure?: ((resource: GroupVersionResource, error: Error) => void) | undefined;
}

/**
 * Informers over wildcard lists and watches of another server: of a shard, or of all shards through the cache server
 * (`pathPrefix` `/services/cache/shards/*`). One connection per requested resource, opened on start or, after that, with the
 * first request. `start` does not wait for the server; {@link synced} does.
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

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): RemoteInformer<T> {
    const key = `${apiVersionOf(resource)}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = this.#createInformer(resource, key);
      this.#informers.set(key, informer);
      if (this.#started) this.#run(informer);
    }
    return informer as unknown as RemoteInformer<T>;
  }

  /** Resolves once all informers requested so far have synced. */
  get synced(): Promise<void> {
    return Promise.all([...this.#informers.values()].map(({ synced }) => synced)).then(() => {});
  }

  /** Whether any list or watch has failed so far. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** For readiness: throws the failure of the first informer that is not connected. */
  check(): void {
    for (const [key, { failure }] of this.#informers)
      if (failure !== undefined) throw new Error(`${key}: ${failure.message}`, { cause: failure });
  }

  /** Starts the reflectors; an abort of the signal has the effect of {@link stop}. */
  async start(signal?: AbortSignal): Promise<void> {
    this.#started = true;
    if (signal?.aborted === true) this.#abort.abort(signal.reason);
    signal?.addEventListener('abort', () => this.#abort.abort(signal.reason), { once: true });
    for (const informer of this.#informers.values()) this.#run(informer);
  }

  /** Resolves once all reflectors have stopped. */
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

  #createInformer(resource: GroupVersionResource, key: string): RemoteInformer {
    const { transform, ...options } = this.#options;
    const { transport, clock, logger, random, onFailure } = this.#modules;
    return new RemoteInformer(
      { ...options, resource, transform: transform?.(resource) },
      {
        transport,
        clock,
        random,
        onFailure: (error, { pauseMs, failures }) => {
          this.#hasFailed = true;
          onFailure?.(resource, error);
          logger[failureLevel(failures)]('failed to list or watch', {
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
