import { randomUUID } from 'node:crypto';
import {
  AdmissionChain,
  BodyDecoder,
  DecodedObjects,
  ObjectReader,
  ObjectStore,
  WatchHub,
  YamlWorker,
} from '@multiplane/apiserver';
import { tokenRequestKind } from '@multiplane/apis';
import { failureLevel, untilAborted, type Clock, type Runnable } from '@multiplane/component-base';
import {
  AlwaysAllowPathsAuthorizer,
  type BaseExchange,
  buildChain,
  type ChainModules,
  type Handler,
  type HandlerChainOptions,
  PrivilegedGroupAuthorizer,
  UnionAuthorizer,
  withImpersonation,
  writeText,
} from '@multiplane/generic-server';
import { cachePrefix, openWatchCache, type BackedWatchCache, type Storage } from '@multiplane/storage';
import { systemKindSource, type CachedKindSource } from './cached-kinds.ts';
import { CachedObjectInformers } from './cached-object-informers.ts';
import { CachedResourceKinds } from './cached-resource-kinds.ts';
import { cacheEndpoints } from './cache-endpoints.ts';
import { storageEndpoint } from './storage-endpoint.ts';
import { classifyCacheRequest, servicePath } from './cache-paths.ts';

export interface CacheServiceOptions extends HandlerChainOptions {
  /** The store belongs to this server, and shards publish into it through this server. */
  readonly ownsStorage: boolean;
  /** `--authorization-always-allow-paths` */
  readonly alwaysAllowPaths: readonly string[];
}

export interface CacheServiceModules extends Omit<
  ChainModules,
  'resolvePath' | 'classify' | 'authorizer' | 'impersonation' | 'clock'
> {
  readonly clock: Clock;
  /** The store of cached objects; the service closes it. */
  readonly storage: Storage;
  readonly outer: Handler;
  /** Aborts the wait for the cached objects to load. */
  readonly signal: AbortSignal;
  /** Sources of kinds in addition to the built-in ones. */
  readonly sources?: readonly CachedKindSource[] | undefined;
}

/** Limit of parsed objects, which transforming reads and in-process informers share. */
const decodedBytes = 32 * 1024 * 1024;

/**
 * Serves the cached objects of all shards: store → watch cache → registry → handler chain. Only members of
 * `system:masters` are authorized, apart from the health endpoints. This holds in every process, because all paths of
 * the service go through its own chain (CVE-2026-39429). The service responds from the start, and returns 503 until the
 * objects are loaded.
 */
export class CacheService {
  readonly cache: BackedWatchCache;
  readonly reader: ObjectReader;
  /** The fixed kinds, over all shards. */
  readonly informers: CachedObjectInformers;
  /** Has started once the cached objects are loaded. */
  readonly loading: Runnable;
  readonly #decoded: DecodedObjects;
  readonly #yaml: YamlWorker;
  readonly #chain: (exchange: BaseExchange) => Promise<void>;

  constructor(options: CacheServiceOptions, modules: CacheServiceModules) {
    const { storage, clock, logger } = modules;
    this.cache = openWatchCache(
      { prefix: cachePrefix },
      {
        storage,
        clock,
        onError: (error, what, failures) =>
          logger[failureLevel(failures)]('cached object watch cache failed', { what, failures, error }),
      },
    );
    this.#decoded = new DecodedObjects({ maxBytes: decodedBytes });
    this.reader = new ObjectReader({ decoded: this.#decoded });
    this.informers = new CachedObjectInformers(this);
    this.#yaml = new YamlWorker({ clock });
    const authorizer = new UnionAuthorizer({
      authorizers: [
        new PrivilegedGroupAuthorizer(),
        new AlwaysAllowPathsAuthorizer({ paths: options.alwaysAllowPaths }),
      ],
    });
    const store = new ObjectStore({
      cache: this.cache,
      decoded: this.#decoded,
      reader: this.reader,
      admission: new AdmissionChain([]),
      clock,
      newUid: () => randomUUID(),
    });
    this.#chain = buildChain(
      options,
      {
        ...modules,
        authorizer,
        // Only members of system:masters may impersonate; the impersonated user is authorized by the same rule.
        impersonation: withImpersonation({ authorizer }),
        resolvePath: () => Promise.resolve(undefined),
        classify: classifyCacheRequest,
      },
      cacheEndpoints({
        store,
        decoder: new BodyDecoder({ isBuiltInKind: () => false, yaml: this.#yaml }),
        authorizer,
        createHandlers: new Map(),
        hub: new WatchHub({}, { clock }),
        clock,
        random: Math.random,
        connectKind: () => tokenRequestKind,
        sources: [systemKindSource, new CachedResourceKinds({ informers: this.informers }), ...(modules.sources ?? [])],
        isLoaded: () => this.cache.hasContent,
        storage: options.ownsStorage
          ? storageEndpoint({ storage: this.cache, clock })
          : async ({ exchange }) =>
              writeText(exchange, 404, 'the cached objects are in NATS: shards publish to --nats-servers themselves\n'),
        outer: modules.outer,
      }),
    );
    this.loading = {
      name: 'cached objects',
      start: () => untilAborted(this.cache.ready, modules.signal),
      stop: async () => undefined,
    };
  }

  /** Responds to every exchange and never rejects. */
  readonly handle = async (exchange: BaseExchange): Promise<void> => {
    const [path, query] = exchange.url.split('?', 2);
    if (path !== servicePath) return this.#chain(exchange);
    const location = query === undefined ? `${servicePath}/` : `${servicePath}/?${query}`;
    exchange.setHeader('location', location);
    exchange.setHeader('content-type', 'text/html; charset=utf-8');
    exchange.respond(307, `<a href="${servicePath}/">Temporary Redirect</a>.\n\n`);
  };

  /** What must run while the service serves. Until {@link loading} has started, it serves without objects. */
  get runnables(): readonly Runnable[] {
    return [
      {
        name: 'watch cache of cached objects',
        start: async () => undefined,
        stop: () => this.cache.close(),
      },
      this.#yaml,
    ];
  }
}
