import {
  addProcessMetrics,
  parseCertificates,
  HealthChecks,
  MetricsRegistry,
  type Clock,
  type Logger,
} from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHandlerChainOptions,
  defaultHttpServerOptions,
  defaultIdentityHeaders,
  Draining,
  HttpServer,
  nonResourceEndpoints,
  RequestHeaderAuthenticator,
  RequestMetrics,
  UnionAuthenticator,
  versionInfo,
  type Handler,
  type ServingCertificate,
} from '@multiplane/generic-server';
import { apiSetHandler, type ApiSetHandler } from './api-set.ts';
import type { VirtualWorkspace } from './virtual-workspace.ts';
import { VirtualWorkspaceServer } from './virtual-workspace-server.ts';

export interface StandaloneServerOptions {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly certificate: Pick<ServingCertificate, 'certificatePem' | 'privateKeyPem'>;
  /** PEM of the CA that signs the client certificate of the shards (`--virtual-resource-client-cert-file`). */
  readonly shardCa: string;
  /** Common names of that certificate; empty: any. */
  readonly shardNames: readonly string[];
  /** Version of the server, for `/version` and the OpenAPI documents. */
  readonly version: string;
}

export interface StandaloneServerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Creates the virtual workspaces; `serve` serves API sets. */
  readonly workspaces: (serve: ApiSetHandler) => readonly VirtualWorkspace[];
}

/** Served without authentication, for the probes of shards and of an orchestrator. */
const healthPaths = ['/livez', '/livez/ping', '/readyz', '/healthz'];

/**
 * A server of virtual workspaces that a provider runs itself, behind an APIExport with `storage.virtual`. It has no
 * connection to a shard: shards send the requests of consumers, after they have authorized them, with the caller in
 * identity headers, which are trusted by the client certificate of the connection. Everybody else is anonymous. The
 * virtual workspaces authorize each request again.
 */
export class StandaloneServer {
  readonly #server: HttpServer;
  readonly #draining = new Draining();

  constructor(options: StandaloneServerOptions, modules: StandaloneServerModules) {
    const { clock, logger } = modules;
    const health = new HealthChecks();
    const registry = new MetricsRegistry();
    addProcessMetrics(registry);
    const metrics = new RequestMetrics(registry);
    const connections = new ConnectionTable(defaultConnectionLimits);
    const version = versionInfo(options.version);
    const outer: Handler = nonResourceEndpoints({ health, registry, metrics, logger, version });
    const authorities = parseCertificates(options.shardCa, 'the CA of the shards');
    const shards = new RequestHeaderAuthenticator(
      { ...defaultIdentityHeaders, allowedNames: options.shardNames, now: () => clock.now() },
      { authorities: { current: () => authorities } },
    );
    const root = new VirtualWorkspaceServer(
      { ...defaultHandlerChainOptions, alwaysAllowPaths: healthPaths, version: version.gitVersion },
      {
        clock,
        logger,
        metrics,
        draining: this.#draining,
        connections,
        health,
        outer,
        authenticator: new UnionAuthenticator({ anonymous: true }, { authenticators: [shards] }),
        onAuthenticationFailure: (error) => logger.debug('credentials refused', { error }),
        // Shards have already applied impersonation and remove its headers.
        delegatedAuthorizer: () => ({
          authorize: () => Promise.resolve({ decision: 'noOpinion', reason: 'impersonation is up to the shard' }),
        }),
        workspaces: modules.workspaces(apiSetHandler({ version: version.gitVersion }, { clock, outer })),
      },
    );
    this.#server = new HttpServer(
      {
        ...defaultHttpServerOptions,
        ...options.certificate,
        clientCa: options.shardCa,
        host: options.host,
        port: options.port,
      },
      { connections, handle: root.handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
    );
  }

  get port(): number {
    return this.#server.port;
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Ends watches, then waits for other requests. */
  async stop(): Promise<void> {
    this.#draining.begin();
    await this.#server.stop();
  }
}
