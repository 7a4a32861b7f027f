import type { UserInfo } from '@multiplane/apimachinery';
import type { InformerFactory, InformerSource, ObjectClient } from '@multiplane/client';
import type { Clock, HealthChecks, Logger, MetricsRegistry, Runnable } from '@multiplane/component-base';
import type { Storage } from '@multiplane/storage';
import type { RequestAuthenticator } from '../authentication/authenticator.ts';
import type { Exchange } from '../exchange.ts';
import type { AuditModules } from '../filters/audit.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import type { BaseExchange } from './base-exchange.ts';

/** What a shard lends to a server that runs inside its process: the cache server and the virtual workspaces of `start`. */
export interface EmbeddingHost {
  readonly shardName: string;
  /** Where clients reach the shard, without a path. */
  readonly externalUrl: () => string;
  readonly rootDirectory: string;
  readonly clock: Clock;
  /** Ends the shard, also while it starts. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly health: HealthChecks;
  readonly metrics: MetricsRegistry;
  /** The shard's own, so that the same people come in. */
  readonly authenticator: RequestAuthenticator;
  /** Tells of requests that never get to the shard's own chain. */
  readonly audit?: AuditModules | undefined;
  readonly resolver: ResourceResolver;
  /** What this shard stores. */
  readonly informers: InformerFactory;
  /** What all shards replicate, this one's own objects first. */
  readonly globalInformers: InformerSource;
  /** Writes with every right, through the whole pipeline. */
  readonly client: ObjectClient;
  /**
   * Sends a request down the shard's own chain in the name of `user`: authorized like any other, but nobody is
   * authenticated or impersonated again. `url` replaces path and query, `/clusters/<x>` included; never rejects.
   */
  dispatch(exchange: Exchange, user: UserInfo, url?: string): Promise<void>;
}

/** A server inside a shard's process. Requests below {@link pathPrefix} are its own, from before authentication on. */
export interface EmbeddedServer {
  /** With both slashes: `/services/cache/`. The longest one that fits takes the request. */
  readonly pathPrefix: string;
  /** Started before and stopped after the listener. */
  readonly runnables: readonly Runnable[];
  /** Answers every exchange and never rejects. */
  handle(exchange: BaseExchange): Promise<void>;
  /** Of a cache server: the replicas of all shards. */
  readonly informers?: InformerSource | undefined;
  /** Of a cache server: where the shard publishes its own. */
  readonly storage?: Storage | undefined;
}

/** How a root of wiring brings a server into a shard without the two packages knowing of each other. */
export type EmbedServer = (host: EmbeddingHost) => EmbeddedServer | Promise<EmbeddedServer>;
