import type { UserInfo } from '@multiplane/apimachinery';
import type { InformerFactory, InformerSource, ObjectClient, RestTransport } from '@multiplane/client';
import type {
  Clock,
  HealthChecks,
  Logger,
  MetricsRegistry,
  ObjectFaults,
  Runnable,
  Tracer,
} from '@multiplane/component-base';
import type {
  AuditModules,
  Authorizer,
  BaseExchange,
  Exchange,
  RequestAuthenticator,
} from '@multiplane/generic-server';
import type { Storage, WatchCache } from '@multiplane/storage';
import type { ResourceResolver } from './registry/definitions/resource-resolver.ts';

/** What a shard provides to a server in its process: to the cache server and the virtual workspaces of `multiplane start`. */
export interface EmbeddingHost {
  readonly shardName: string;
  /** The external URL of the shard, without a path. */
  readonly externalUrl: () => string;
  /** The listener of this process, and its certificate (PEM). Known once it listens. */
  readonly listener: () => { readonly address: string; readonly port: number; readonly certificatePem: string };
  /** The CAs by which clients verify the shard (PEM). */
  readonly rootCa: () => string;
  readonly rootDirectory: string;
  readonly clock: Clock;
  /** Aborts when the shard stops, also during its start. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly health: HealthChecks;
  readonly metrics: MetricsRegistry;
  readonly faults: ObjectFaults;
  /** The shard's own, so that both accept the same users. */
  readonly authenticator: RequestAuthenticator;
  /**
   * Decides about logical clusters of this shard, by name, as a SubjectAccessReview in them does, without the cost of a
   * request.
   */
  readonly reviewAuthorizer: Authorizer;
  /** Audits requests that do not run through the shard's own handler chain. */
  readonly audit?: AuditModules | undefined;
  /** Traces requests that embedded servers answer or dispatch. */
  readonly tracer?: Tracer | undefined;
  readonly resolver: ResourceResolver;
  /** Informers for the objects of this shard. */
  readonly informers: InformerFactory;
  /** Informers for the cached objects of all shards, and the shard's own ones before those. */
  readonly globalInformers: InformerSource;
  /** Cached objects of all shards, of a cache server in this process; undefined without one. Known once all servers are embedded. */
  readonly cachedObjects?: (() => WatchCache | undefined) | undefined;
  /** Connection to the cache server from which the shard reads; absent: an embedded one, or none. */
  readonly cacheServer?: RestTransport | undefined;
  /** The loopback client: writes are not authorized, but run through the whole write path. */
  readonly client: ObjectClient;
  /**
   * Runs a request as `user` through the shard's handler chain: with authorization, without authentication and impersonation.
   * `url` replaces path and query, `/clusters/<x>` included. Never rejects.
   */
  dispatch(exchange: Exchange, user: UserInfo, url?: string): Promise<void>;
}

/** A server in a shard's process. It receives requests below {@link pathPrefix} before authentication. */
export interface EmbeddedServer {
  /** With both slashes: `/services/cache/`. The longest matching prefix wins. */
  readonly pathPrefix: string;
  /** Started before and stopped after the listener. */
  readonly runnables: readonly Runnable[];
  /** Responds to each exchange; never rejects. */
  handle(exchange: BaseExchange): Promise<void>;
  /**
   * Sends a request of the shard's own chain to this server in the name of `user`, who is not authenticated again; `url`
   * replaces path and query.
   */
  dispatch?(exchange: Exchange, user: UserInfo, url: string): Promise<void>;
  /** Of a cache server: the cached objects of all shards, as it serves them. */
  readonly cachedObjects?: WatchCache | undefined;
  /** Of a cache server: informers for the cached objects of all shards. */
  readonly informers?: InformerSource | undefined;
  /** Of a cache server: the storage to which the shard replicates its objects. */
  readonly storage?: Storage | undefined;
}

/** Creates an embedded server; passed to the shard so that neither package imports the other. */
export type EmbedServer = (host: EmbeddingHost) => EmbeddedServer | Promise<EmbeddedServer>;
