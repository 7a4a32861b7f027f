import { isStatusError, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import {
  RemoteInformerFactory,
  RestClient,
  resourceText,
  RestTransport,
  type ClientConfig,
  type RemoteInformer,
  type RestClientMetrics,
} from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';

/** A request that transfers nothing for so long has failed: the shard is gone, or what is between. */
const idleTimeoutMs = 30_000;

export interface EndpointOptions {
  readonly url: string;
  /** Called before every request, so that rotated credentials are used from the next one on. */
  readonly config: () => ClientConfig;
  readonly resources: readonly GroupVersionResource[];
  readonly keepManagedFields: boolean;
  readonly userAgent: string;
}

export interface EndpointModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: RestClientMetrics | undefined;
  readonly random?: (() => number) | undefined;
}

/** Nobody reads them in a controller, and they are a third of a small object. */
const withoutManagedFields = (object: KubeObject): KubeObject => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};

/** The virtual workspace of one shard: one client, and one informer for each resource of all consumers on this shard. */
export class Endpoint {
  readonly url: string;
  readonly client: RestClient;
  readonly #transport: RestTransport;
  readonly #informers: RemoteInformerFactory;
  /** By resource: resolves when the server has refused to list it. */
  readonly #refused = new Map<string, PromiseWithResolvers<void>>();

  constructor(options: EndpointOptions, modules: EndpointModules) {
    const { url, config, resources, keepManagedFields, userAgent } = options;
    const { origin, pathname } = new URL(url);
    const pathPrefix = pathname.replace(/\/$/, '');
    this.url = url;
    this.#transport = new RestTransport({
      config: configAt(origin, config),
      userAgent,
      idleTimeoutMs,
      metrics: modules.metrics,
    });
    this.client = new RestClient({ transport: this.#transport, pathPrefix });
    this.#informers = new RemoteInformerFactory(
      { pathPrefix, ...(keepManagedFields ? {} : { transform: () => withoutManagedFields }) },
      {
        transport: this.#transport,
        clock: modules.clock,
        logger: modules.logger.child({ endpoint: url }),
        random: modules.random,
        onFailure: (resource, error) => {
          if (isRefusal(error)) this.#refused.get(resourceText(resource))?.resolve();
        },
      },
    );
    for (const resource of resources) {
      this.#refused.set(resourceText(resource), Promise.withResolvers<void>());
      this.#informers.informer(resource);
    }
  }

  /** Rejects when an informer ends, which is a bug of this process. */
  get ended(): Promise<void> {
    return this.#informers.ended;
  }

  /**
   * Resolves once it is known which of these objects there are: they were listed, or the server says that the provider may see none,
   * such as a claimed resource that no consumer has accepted. They are listed again until they can be.
   */
  async settled(resource: GroupVersionResource): Promise<void> {
    await Promise.race([this.informer(resource).synced, this.#refused.get(resourceText(resource))?.promise]);
  }

  informer<T extends KubeObject>(resource: GroupVersionResource): RemoteInformer<T> {
    return this.#informers.informer<T>(resource);
  }

  /** The failure of an informer that is not connected, or undefined. */
  get failure(): Error | undefined {
    try {
      this.#informers.check();
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  async start(): Promise<void> {
    await this.#informers.start();
  }

  /** Ends the informers; requests in flight are aborted. */
  async stop(): Promise<void> {
    await this.#informers.stop();
    this.#transport.close();
  }
}

/** No answer of a server that is unavailable, or of one that cannot know. */
const isRefusal = (error: Error): boolean => isStatusError(error, 'Forbidden') || isStatusError(error, 'NotFound');

/** The same object for the same configuration: the transport connects again when it is another one. */
function configAt(server: string, config: () => ClientConfig): () => ClientConfig {
  let last = config();
  let moved: ClientConfig = { ...last, server };
  return () => {
    const current = config();
    if (current !== last) moved = { ...current, server };
    last = current;
    return moved;
  };
}
