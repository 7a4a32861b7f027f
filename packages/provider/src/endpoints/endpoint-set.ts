import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { RemoteInformer, type RestTransport } from '@multiplane/client';
import { failureLevel, type Clock, type Logger } from '@multiplane/component-base';
import type { Endpoint } from './endpoint.ts';
import type { EndpointSource } from './endpoint-source.ts';
import type { WorkspaceAddress } from './workspace-address.ts';

export interface EndpointSetModules {
  /** To the server of the provider's workspace. */
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: (url: string) => Endpoint;
  /** An endpoint was opened; its informers fill from now on. */
  readonly opened: (endpoint: Endpoint) => void;
  /** The endpoint is no longer listed; it is stopped after this call. */
  readonly closing: (endpoint: Endpoint) => void;
  /** Something in this process has failed for good. */
  readonly failed: (error: unknown) => void;
  readonly random?: (() => number) | undefined;
}

/** The endpoints that a slice lists, as shards come and go. An endpoint stays while it is listed, whether it responds or not. */
export class EndpointSet {
  readonly #modules: EndpointSetModules;
  readonly #source: EndpointSource;
  readonly #informer: RemoteInformer;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(
    options: { readonly source: EndpointSource; readonly at: WorkspaceAddress },
    modules: EndpointSetModules,
  ) {
    const { source, at } = options;
    const { transport, clock, logger, random } = modules;
    this.#modules = modules;
    this.#source = source;
    this.#informer = new RemoteInformer(
      {
        resource: source.resource,
        pathPrefix: at.pathPrefix,
        cluster: at.cluster,
        fieldSelector: `metadata.name=${source.name}`,
      },
      {
        transport,
        clock,
        random,
        onFailure: (error, { pauseMs, failures }) =>
          logger[failureLevel(failures)]('failed to watch the endpoints', {
            resource: source.resource.resource,
            name: source.name,
            failures,
            pauseMs: Math.round(pauseMs),
            error,
          }),
      },
    );
  }

  /** Resolves once the list of endpoints was read. */
  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  /** Why the list of endpoints may be out of date, or undefined. */
  get failure(): Error | undefined {
    return this.#informer.failure;
  }

  get endpoints(): Iterable<Endpoint> {
    return this.#endpoints.values();
  }

  start(): void {
    const update = (object: DeepReadonly<KubeObject> | undefined): void =>
      this.#update(object === undefined ? [] : this.#source.urlsOf(object));
    this.#informer.addHandlers({
      added: (object) => update(object),
      updated: (object) => update(object),
      deleted: () => update(undefined),
    });
    this.#running = this.#informer.run(this.#abort.signal);
    this.#running.catch((error: unknown) => this.#modules.failed(error));
  }

  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    this.#update([]);
    await Promise.allSettled([this.#running, ...this.#stopping]);
  }

  #update(urls: readonly string[]): void {
    const { open, opened, closing, failed, logger } = this.#modules;
    for (const [url, endpoint] of this.#endpoints) {
      if (urls.includes(url)) continue;
      this.#endpoints.delete(url);
      closing(endpoint);
      logger.info('endpoint removed', { endpoint: url });
      const stopping = endpoint.stop().finally(() => this.#stopping.delete(stopping));
      this.#stopping.add(stopping);
    }
    for (const url of urls) {
      if (this.#endpoints.has(url)) continue;
      // One bad URL in the list must not keep the others from being served.
      if (!URL.canParse(url)) {
        logger.error('ignoring an endpoint with an invalid URL', { endpoint: url });
        continue;
      }
      const endpoint = open(url);
      this.#endpoints.set(url, endpoint);
      opened(endpoint);
      logger.info('endpoint added', { endpoint: url });
      endpoint.ended.catch((error: unknown) => failed(error));
      void endpoint.start();
    }
  }
}
