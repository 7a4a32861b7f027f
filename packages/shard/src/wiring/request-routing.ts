import type { EmbeddingHost, EmbedServer } from '@multiplane/apiserver';
import type { Runnable } from '@multiplane/component-base';
import type { Authorizer, BaseExchange } from '@multiplane/generic-server';
import { EmbeddedServers, RequestDispatcher } from '../embedded-servers.ts';
import type { ShardOptions } from '../options.ts';
import { servicesIdentity } from '../services/services-identity.ts';
import { servicesProxy } from '../services/services-proxy.ts';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import type { AccessControl } from './access-control.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';
import type { RequestPath } from './request-path.ts';
import type { WritePath } from './write-path.ts';

interface Modules extends Infrastructure, ReadPath, AccessControl, WritePath, RequestPath {
  readonly urls: () => ShardUrls;
  /** The port of the listener. */
  readonly port: () => number;
  readonly embedded: readonly EmbedServer[];
}

export interface RequestRouting {
  /** Answers every exchange and never rejects. */
  readonly handle: (exchange: BaseExchange) => Promise<void>;
  /** The embedded servers; started before requests are served. */
  readonly embeddedRunnables: readonly Runnable[];
}

/**
 * Routes requests to the servers in this process, which take them before the shard's own chain and may dispatch requests
 * back into it. With `--run-virtual-workspaces=false`, requests below `/services/` are proxied to an external server.
 */
export async function requestRouting(options: ShardOptions, modules: Modules): Promise<RequestRouting> {
  const { chains, starting, replication } = modules;
  const servers = new EmbeddedServers();
  const embeddedRunnables: Runnable[] = [modules.virtualResources.backends];
  const host = embeddingHost(options, modules);
  for (const embed of modules.embedded) {
    const server = await embed(host);
    servers.add(server);
    replication.adopt(server);
    modules.virtualResources.backends.adopt(server);
    embeddedRunnables.push(...server.runnables);
  }
  replication.complete();
  if (!options.runVirtualWorkspaces && options.shardVirtualWorkspaceUrl !== undefined) {
    const proxy = servicesProxy(
      { url: options.shardVirtualWorkspaceUrl },
      { identity: servicesIdentity(options, modules), chain: chains.other },
    );
    servers.add(proxy);
    embeddedRunnables.push(...proxy.runnables);
  }
  const own = chains.shard();
  const route = servers.route(own);
  // Embedded servers get no request before they have started; until then the shard's chain refuses all of them.
  return { handle: (exchange) => (starting.isOpen ? route : own)(exchange), embeddedRunnables };
}

function embeddingHost(options: ShardOptions, modules: Modules): EmbeddingHost {
  const { clock, signal, logger, health, registry, resolver, informers, globalInformers, client, audit } = modules;
  const dispatcher = new RequestDispatcher(modules.chains.shard);
  return {
    shardName: options.shardName,
    externalUrl: () => modules.urls().externalURL,
    listener: () => ({
      address: options.bindAddress,
      port: modules.port(),
      certificatePem: modules.files.serving.current.certificatePem,
    }),
    rootCa: modules.rootCa,
    rootDirectory: options.rootDirectory,
    clock,
    signal,
    logger,
    health,
    metrics: registry,
    faults: modules.faults,
    authenticator: modules.authentication.authenticator,
    resolver,
    informers,
    globalInformers,
    cachedObjects: () => modules.replication.cachedObjects,
    cacheServer: modules.replication.cacheServer,
    client,
    reviewAuthorizer: reviewAuthorizer(modules),
    audit,
    tracer: modules.tracer,
    dispatch: (exchange, user, url) => dispatcher.dispatch(exchange, user, url),
  };
}

/** Like the handler chain, which refuses every request to a logical cluster that is marked inactive, reviews included. */
function reviewAuthorizer({ authorization, inactive }: Modules): Authorizer {
  return {
    authorize: async (attributes) => {
      const { cluster } = attributes;
      if (cluster !== undefined && cluster !== '*' && inactive.isInactive(cluster))
        return { decision: 'noOpinion', reason: 'access denied' };
      return authorization.reviews.authorize(attributes);
    },
  };
}
