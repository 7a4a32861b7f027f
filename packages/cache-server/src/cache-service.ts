import { randomUUID } from 'node:crypto';
import {
  AdmissionChain,
  AlwaysAllowPathsAuthorizer,
  BodyDecoder,
  buildChain,
  DecodedObjects,
  ObjectReader,
  ObjectStore,
  PrivilegedGroupAuthorizer,
  UnionAuthorizer,
  WatchHub,
  withImpersonation,
  YamlWorker,
  type BaseExchange,
  type ChainModules,
  type Handler,
  type HandlerChainOptions,
} from '@multiplane/apiserver';
import { tokenRequestKind } from '@multiplane/apis';
import { failureLevel, untilAborted, type Clock, type Runnable } from '@multiplane/component-base';
import { cachePrefix, openWatchCache, type BackedWatchCache, type Storage } from '@multiplane/storage';
import { systemKindSource, type KindSource } from './cached-kinds.ts';
import { cacheEndpoints } from './cache-endpoints.ts';
import { classifyCacheRequest, servicePath } from './cache-paths.ts';

export interface CacheServiceOptions extends HandlerChainOptions {
  /** Paths that everybody may get. */
  readonly alwaysAllowPaths: readonly string[];
}

export interface CacheServiceModules extends Omit<
  ChainModules,
  'resolvePath' | 'classify' | 'authorizer' | 'impersonation' | 'clock'
> {
  readonly clock: Clock;
  /** The replicas; the service closes it. */
  readonly storage: Storage;
  readonly outer: Handler;
  /** Nobody waits for the replicas any more. */
  readonly signal: AbortSignal;
  /** Kinds beyond those of the system. */
  readonly sources?: readonly KindSource[] | undefined;
}

/** Parsed objects kept for reads that must transform and for readers in the same process. */
const decodedBytes = 32 * 1024 * 1024;

/**
 * Replicas of all shards, read from a store and served by the same pipeline as everything else: store → watch cache →
 * registry → chain. It decides nothing: who is in `system:masters` may do everything, nobody else anything but look at
 * the health (C10.6); that holds wherever it runs, since everything below its path goes down its own chain
 * (CVE-2026-39429). It answers from the beginning, and has no replicas to show until they are loaded.
 */
export class CacheService {
  readonly cache: BackedWatchCache;
  readonly reader: ObjectReader;
  /** Starts when the replicas are there. */
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
          logger[failureLevel(failures)]('cache of replicas', { what, failures, error }),
      },
    );
    this.#decoded = new DecodedObjects({ maxBytes: decodedBytes });
    this.reader = new ObjectReader({ decoded: this.#decoded });
    this.#yaml = new YamlWorker({}, { clock });
    const authorizer = new UnionAuthorizer({
      authorizers: [
        new PrivilegedGroupAuthorizer(),
        new AlwaysAllowPathsAuthorizer({ paths: options.alwaysAllowPaths }),
      ],
    });
    const store = new ObjectStore(
      {},
      {
        cache: this.cache,
        decoded: this.#decoded,
        reader: this.reader,
        admission: new AdmissionChain([]),
        clock,
        newUid: () => randomUUID(),
      },
    );
    this.#chain = buildChain(
      options,
      {
        ...modules,
        authorizer,
        // Only those who may do everything may act as another, and then may do what that one may.
        impersonation: withImpersonation({ authorizer }),
        resolvePath: () => Promise.resolve(undefined),
        classify: classifyCacheRequest,
      },
      cacheEndpoints({
        store,
        decoder: new BodyDecoder({}, { isBuiltInKind: () => false, yaml: this.#yaml }),
        authorizer,
        createHandlers: new Map(),
        hub: new WatchHub({}, { clock }),
        clock,
        random: Math.random,
        connectKind: () => tokenRequestKind,
        sources: [systemKindSource, ...(modules.sources ?? [])],
        isLoaded: () => this.cache.hasContent,
        outer: modules.outer,
      }),
    );
    this.loading = {
      name: 'replicas',
      start: () => untilAborted(this.cache.ready, modules.signal),
      stop: async () => undefined,
    };
  }

  /** Answers every exchange and never rejects. */
  readonly handle = async (exchange: BaseExchange): Promise<void> => {
    const [path, query] = exchange.url.split('?', 2);
    if (path !== servicePath) return this.#chain(exchange);
    const location = query === undefined ? `${servicePath}/` : `${servicePath}/?${query}`;
    exchange.setHeader('location', location);
    exchange.setHeader('content-type', 'text/html; charset=utf-8');
    exchange.respond(307, `<a href="${servicePath}/">Temporary Redirect</a>.\n\n`);
  };

  /** Everything that must run while the service answers. Until {@link loading} has started it answers without replicas. */
  get runnables(): readonly Runnable[] {
    return [
      {
        name: 'cache of replicas',
        start: async () => undefined,
        stop: () => this.cache.close(),
      },
      this.#yaml,
    ];
  }
}
