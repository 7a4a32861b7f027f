import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { EmbedServer } from '@multiplane/apiserver';
import type { Logger } from '@multiplane/component-base';
import type { HttpServer } from '@multiplane/generic-server';
import type { ShardOptions } from './options.ts';
import { ShardClients } from './sharding/shard-clients.ts';
import { shardUrls, type ShardUrls } from './sharding/shard-urls.ts';
import { accessControl } from './wiring/access-control.ts';
import { electedControllers } from './wiring/controllers.ts';
import { openInfrastructure } from './wiring/infrastructure.ts';
import { addHealthChecks, httpsListener, shardLifecycle } from './wiring/lifecycle.ts';
import { readPath } from './wiring/read-path.ts';
import { requestPath } from './wiring/request-path.ts';
import { requestRouting } from './wiring/request-routing.ts';
import { writePath } from './wiring/write-path.ts';

export interface ShardModules {
  readonly logger: Logger;
  /** Abort it to stop the shard gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
  /** Servers that run inside the shard's process (the cache server and the virtual workspaces of `start`). */
  readonly embedded?: readonly EmbedServer[] | undefined;
  /** Called when the shard serves requests and has written the admin kubeconfig. */
  readonly onReady?: (() => void) | undefined;
}

/**
 * Wires one shard from its parts, each stage from the results of the stages before it, and runs it until the signal
 * aborts. {@link shardLifecycle} has the start order of all runnables. Throws when a part fails that the shard needs; then the
 * signal of the parts aborts too, since a start that fails early stops none of them, and their timers would keep the process.
 */
export async function runShard(options: ShardOptions, modules: ShardModules): Promise<void> {
  const ended = new AbortController();
  try {
    await run(options, modules, AbortSignal.any([modules.signal, ended.signal]));
  } finally {
    ended.abort();
  }
}

/** `signal`: of the parts. */
async function run(options: ShardOptions, modules: ShardModules, signal: AbortSignal): Promise<void> {
  const { version, embedded = [] } = modules;
  const identity = `${hostname()}_${randomUUID()}`;
  // These closures use `server` and `clients`, which are wired below; they are called only while the shard runs.
  const urls = (): ShardUrls => shardUrls(options, server.port);

  // certificates, storage, health, metrics
  const infrastructure = await openInfrastructure(options, { ...modules, signal });
  // watch cache → informers → resolver and indexes
  const read = readPath(options, infrastructure);
  // authentication → authorization
  const access = accessControl(options, { ...infrastructure, ...read, externalClient: () => clients.external });
  // decoding → admission → registry → storage
  const write = writePath(options, {
    ...infrastructure,
    ...read,
    ...access,
    remoteTransport: () => clients.externalTransport,
  });
  // handler chain: filters → endpoints
  const stages = { ...infrastructure, ...read, ...access, ...write, version, urls };
  const requests = requestPath(options, stages);
  // listener → embedded servers or handler chain
  const routing = await requestRouting(options, { ...stages, ...requests, port: () => server.port, embedded });
  const server: HttpServer = httpsListener(options, { ...infrastructure, ...requests, ...routing });
  // clients for other shards → readiness checks → controllers
  const clients = new ShardClients(options, { ...infrastructure, ...read, local: write.client });
  addHealthChecks({ ...infrastructure, ...read });
  const controllers = options.runControllers
    ? electedControllers(options, { ...stages, clients, identity })
    : undefined;

  // start in the order of shardLifecycle, run, stop
  const running = { ...stages, ...requests, ...routing, server, clients, identity, controllers };
  await shardLifecycle(options, running).run(modules.signal, () => {
    modules.logger.info('ready', {
      url: urls().externalURL,
      kubeconfig: options.kubeconfigPath,
      storage: options.storageBackend,
    });
    modules.onReady?.();
  });
}
