import { parseYaml } from '@multiplane/apimachinery';
import type { X509Certificate } from 'node:crypto';
import { RestClient, RestClientMetrics, RestTransport, watchClientConfig } from '@multiplane/client';
import {
  openTracer,
  addProcessMetrics,
  CertificateWatcher,
  ensureServingCertificate,
  EventLoopMonitor,
  HealthChecks,
  IdleGarbageCollection,
  Lifecycle,
  MetricsRegistry,
  parseCertificates,
  servingHosts,
  systemClock,
  type Clock,
  type Logger,
  type Runnable,
  type Tracer,
  type Watched,
} from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  defaultReauthorizerOptions,
  defaultServiceAccountLookupOptions,
  externalTokens,
  HttpServer,
  noJwtExpressions,
  policyLookup,
  Reauthorizer,
  RemoteServiceAccountLookup,
  requestHeaderAuthenticator,
  watchServingCertificate,
  webhookPolicy,
  type AddressPolicy,
  type BaseExchange,
  type CertificateAuthorities,
  type JwtExpressionCompiler,
} from '@multiplane/generic-server';
import { ReverseProxy } from '@multiplane/reverse-proxy';
import { GroupFilter } from './authentication/group-filter.ts';
import { OptionalAuthentication } from './authentication/optional-authentication.ts';
import { tokenAuthenticators } from './authentication/token-authentication.ts';
import { WorkspaceTokens } from './authentication/workspace-tokens.ts';
import { FrontProxyHandler } from './front-proxy-handler.ts';
import { defaultIndexCatchUpOptions, IndexCatchUp } from './index/index-catch-up.ts';
import { IndexController } from './index/index-controller.ts';
import { WorkspaceIndex } from './index/workspace-index.ts';
import { identityHeaderFilter, readMappings, type Mapping } from './mapping/mapping-file.ts';
import { MetricsAuthorizer } from './metrics-authorizer.ts';
import type { FrontProxyOptions } from './options.ts';
import { ProxyMetrics } from './proxy-metrics.ts';
import { Router } from './routing/router.ts';

export interface FrontProxyModules {
  readonly logger: Logger;
  /** Aborting it stops the front-proxy gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
  /** Compiles the expressions of `--authentication-config`; not needed without the flag. */
  readonly jwtExpressions?: JwtExpressionCompiler | undefined;
}

interface Infrastructure {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watcher: CertificateWatcher;
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
}

/**
 * Runs a front-proxy until the signal aborts: reflectors of all shards → index → router, and listener → handler → reverse
 * proxies. It has no state of its own, so any number of instances may run. Rejects if a required part fails.
 */
export async function runFrontProxy(
  options: FrontProxyOptions,
  { logger, signal, version, jwtExpressions = noJwtExpressions }: FrontProxyModules,
): Promise<void> {
  const clock = systemClock;
  if (options.generatesCertificate)
    await ensureServingCertificate(
      { folder: options.rootDirectory, name: 'apiserver', hosts: servingHosts(options) },
      { clock, warn: logger.warn.bind(logger) },
    );
  const watcher = new CertificateWatcher({}, { clock, logger });
  const common: Infrastructure = {
    clock,
    logger,
    watcher,
    health: new HealthChecks(),
    registry: new MetricsRegistry(),
  };
  addProcessMetrics(common.registry);
  const tracer = await openTracer({ ...options, service: 'multiplane-front-proxy', version }, { decode: parseYaml });
  for (const gate of options.features.unknown) logger.warn('unknown feature gate', { gate });

  const shards = createShardIndex(options, common);
  const upstreams = createUpstreams(options, common);
  const identity = createAuthentication(options, { ...common, shards, jwtExpressions });
  const connections = new ConnectionTable(defaultConnectionLimits);
  const metrics = new ProxyMetrics(common.registry, { index: shards.index });
  const handler = createHandler(options, { ...common, shards, upstreams, identity, connections, metrics, tracer });
  const server = createListener(options, { ...common, connections, metrics, handle: handler.handle });
  common.health.add('index', () => shards.controller.check(), { endpoints: ['readyz'] });

  const lifecycle = new Lifecycle(
    { groups: ['index', 'serving'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health: common.health, clock },
  );
  lifecycle.add('index', new EventLoopMonitor({}, { logger, metrics: common.registry, health: common.health, clock }));
  lifecycle.add('index', new IdleGarbageCollection({ clock }));
  lifecycle.add('index', watcher);
  if (tracer !== undefined) lifecycle.add('index', tracer);
  lifecycle.add('index', identity.runnable);
  lifecycle.add('index', shards.controller);
  lifecycle.add('serving', {
    name: 'listener',
    start: () => server.start(),
    stop: async () => {
      upstreams.endLongRunning();
      await server.stop();
      await upstreams.close();
      shards.rootTransport.close();
    },
  });
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, version }));
}

interface ShardIndex {
  readonly index: WorkspaceIndex;
  readonly controller: IndexController;
  /** A transport to the root shard. */
  readonly rootTransport: RestTransport;
}

/** The index of workspaces and the reflectors that maintain it. */
function createShardIndex(
  options: FrontProxyOptions,
  { clock, logger, watcher, registry }: Infrastructure,
): ShardIndex {
  const shardConfig = watchClientConfig({ file: options.shardsKubeconfig }, { watcher });
  const rootConfig = watchClientConfig({ file: options.rootKubeconfig }, { watcher });
  const index = new WorkspaceIndex();
  const metrics = new RestClientMetrics(registry);
  const controller = new IndexController(
    { idleTimeoutMs: options.upstreamGiveUpTimeout },
    { index, rootConfig: () => rootConfig.current, shardConfig: () => shardConfig.current, clock, logger, metrics },
  );
  const rootTransport = new RestTransport({
    config: () => rootConfig.current,
    userAgent: 'multiplane-front-proxy',
    idleTimeoutMs: options.upstreamGiveUpTimeout,
    metrics,
  });
  return { index, controller, rootTransport };
}

interface Upstreams {
  readonly mappings: readonly Mapping[];
  proxyOf(mapping: Mapping): ReverseProxy;
  /** For servers behind mounts outside of this control plane. */
  readonly mounts: { readonly proxyOf: (mapping: Mapping) => ReverseProxy; readonly policy: AddressPolicy };
  endLongRunning(): void;
  close(): Promise<void>;
}

/** One reverse proxy per path mapping, and one for its mounts. */
function createUpstreams(options: FrontProxyOptions, { clock, logger, watcher }: Infrastructure): Upstreams {
  const mappings = readMappings(options.mappingFile, { watcher });
  const proxyOptions = {
    connectTimeoutMs: options.upstreamConnectTimeout,
    probeAfterMs: options.upstreamSilenceTimeout,
    probeTimeoutMs: options.upstreamProbeTimeout,
    streamGiveUpMs: options.upstreamGiveUpTimeout,
    writeGiveUpMs: options.upstreamWriteGiveUpTimeout,
  };
  const onHealth = (url: string, isAlive: boolean): void => {
    if (isAlive) logger.info('upstream server responds again', { url });
    else logger.warn('upstream server does not respond', { url });
  };
  const policy = webhookPolicy(options);
  const lookup = policyLookup({ policy });
  const proxies = (
    more: { readonly namesConnections?: true },
    modules: { readonly lookup?: typeof lookup },
  ): Map<Mapping, ReverseProxy> =>
    new Map(
      mappings.map((mapping) => [
        mapping,
        new ReverseProxy({ ...proxyOptions, ...more }, { identity: mapping.identity, clock, onHealth, ...modules }),
      ]),
    );
  const own = proxies({ namesConnections: true }, {});
  // Of other connections than those to this control plane: their names are resolved under the policy.
  const external = proxies({}, { lookup });
  const all = [...own.values(), ...external.values()];
  return {
    mappings,
    proxyOf: (mapping) => own.get(mapping) as ReverseProxy,
    mounts: { proxyOf: (mapping) => external.get(mapping) as ReverseProxy, policy },
    endLongRunning: () => {
      for (const proxy of all) proxy.endLongRunning();
    },
    close: async () => void (await Promise.all(all.map((proxy) => proxy.close()))),
  };
}

interface Identity {
  readonly authentication: OptionalAuthentication;
  readonly workspaceTokens: WorkspaceTokens | undefined;
  readonly runnable: Runnable;
}

/** Authentication by trusted proxies, client certificates and, if configured, tokens. */
function createAuthentication(
  options: FrontProxyOptions,
  modules: Infrastructure & { readonly shards: ShardIndex; readonly jwtExpressions: JwtExpressionCompiler },
): Identity {
  const { clock, watcher, shards, jwtExpressions } = modules;
  const now = (): number => clock.now();
  const clientAuthorities = watchAuthorities(watcher, options.clientCaFile);
  const proxyAuthorities = watchAuthorities(watcher, options.requestheaderClientCaFile);
  const workspaceAuthorities = watchAuthorities(watcher, options.workspaceClientCaFile);
  const serviceAccounts = new RemoteServiceAccountLookup(defaultServiceAccountLookupOptions, {
    clock,
    clientOf: (cluster) => {
      const transport = transportOf(cluster);
      return transport === undefined ? undefined : new RestClient({ transport });
    },
  });
  const external = externalTokens(options, { watcher, clock, expressions: jwtExpressions });
  const transportOf = (cluster: string): RestTransport | undefined =>
    shards.controller.transportOf(shards.index.shardOf(cluster)?.name);
  const hasWorkspaceIssuers = options.features.enabled('WorkspaceAuthentication');
  const authentication = new OptionalAuthentication(
    { forwardsUnknownTokens: hasWorkspaceIssuers },
    {
      requestHeader: requestHeaderAuthenticator(options, {
        users: clientAuthorities,
        proxies: proxyAuthorities,
        workspaces: workspaceAuthorities,
        now,
      }),
      clientAuthorities,
      workspaceAuthorities,
      additional: tokenAuthenticators(options, { serviceAccounts, external: external.authenticators, watcher, clock }),
      clock,
    },
  );
  const workspaceTokens = hasWorkspaceIssuers ? new WorkspaceTokens({ transportOf, clock }) : undefined;
  return { authentication, workspaceTokens, runnable: external.runnable };
}

function createHandler(
  options: FrontProxyOptions,
  modules: Infrastructure & {
    readonly shards: ShardIndex;
    readonly upstreams: Upstreams;
    readonly identity: Identity;
    readonly connections: ConnectionTable;
    readonly metrics: ProxyMetrics;
    readonly tracer: Tracer | undefined;
  },
): FrontProxyHandler {
  const { shards, upstreams, identity, connections, metrics, health, registry, clock, logger } = modules;
  const { mappings } = upstreams;
  const { index, controller } = shards;
  const catchUp = new IndexCatchUp(defaultIndexCatchUpOptions, {
    index,
    transportOf: (shard) => controller.transportOf(shard),
    clock,
    logger,
  });
  const metricsAuthorizer = new MetricsAuthorizer({ transport: shards.rootTransport, clock });
  return new FrontProxyHandler(
    { corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)) },
    {
      router: new Router(mappings, {
        index,
        isIncomplete: () => controller.isIncomplete,
        reaches: (path) => catchUp.reaches(path),
      }),
      authentication: identity.authentication,
      workspaceTokens: identity.workspaceTokens,
      reauthorizer: new Reauthorizer(defaultReauthorizerOptions, { clock }),
      groups: new GroupFilter({
        passOn: options.authenticationPassOnGroups,
        drop: options.authenticationDropGroups,
      }),
      identityHeaders: identityHeaderFilter(mappings, {
        names: [
          ...options.requestheaderUsernameHeaders,
          ...options.requestheaderGroupHeaders,
          ...options.requestheaderUidHeaders,
        ],
        prefixes: options.requestheaderExtraHeadersPrefix,
      }),
      proxyOf: (mapping) => upstreams.proxyOf(mapping),
      mounts: upstreams.mounts,
      mayReadMetrics: (user) => metricsAuthorizer.allows(user),
      onAuthenticated: (exchange, user) => {
        // The shard knows the user of a token; here its address stands for it.
        const owner = user ?? `address ${exchange.socket.remoteAddress ?? ''}`;
        connections.markAuthenticated(exchange.socket, owner);
        exchange.chargeTo(owner);
      },
      tracer: modules.tracer,
      health,
      registry,
      connectionNames: connections.names,
      metrics,
      clock,
      logger,
    },
  );
}

function createListener(
  options: FrontProxyOptions,
  modules: Infrastructure & {
    readonly connections: ConnectionTable;
    readonly metrics: ProxyMetrics;
    readonly handle: (exchange: BaseExchange) => Promise<void>;
  },
): HttpServer {
  const { watcher, clock, connections, metrics, handle } = modules;
  const certificate = watchServingCertificate(
    {
      certificateFile: options.certificateFile,
      privateKeyFile: options.privateKeyFile,
      clientCaFiles: [options.clientCaFile, options.requestheaderClientCaFile, options.workspaceClientCaFile].filter(
        (file) => file !== undefined,
      ),
    },
    { watcher },
  );
  const server = new HttpServer(
    { ...defaultHttpServerOptions, ...certificate.current, host: options.bindAddress, port: options.securePort },
    { connections, handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((value) => server.reloadCertificate(value));
  return server;
}

function watchAuthorities(watcher: CertificateWatcher, file: string | undefined): CertificateAuthorities | undefined {
  if (file === undefined) return undefined;
  const watched: Watched<readonly X509Certificate[]> = watcher.watch(file, (readText) =>
    parseCertificates(readText(file), file),
  );
  return { current: () => watched.current };
}
