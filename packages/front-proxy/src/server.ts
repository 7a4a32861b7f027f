import { createPublicKey, type X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  BearerTokenAuthenticator,
  configuredRequestHeader,
  configuredTokens,
  ConnectionTable,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  defaultServiceAccountReadsOptions,
  HttpServer,
  parseTokenFile,
  ServiceAccountReads,
  ServiceAccountTokens,
  StaticTokenAuthenticator,
  UnionTokenAuthenticator,
  watchServingCertificate,
  type CertificateAuthorities,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '@multiplane/apiserver';
import { RestClient, RestTransport, watchClientConfig } from '@multiplane/client';
import {
  CertificateWatcher,
  ensureServingCertificate,
  EventLoopMonitor,
  HealthChecks,
  Lifecycle,
  MetricsRegistry,
  parseCertificates,
  systemClock,
  type Logger,
  type Watched,
  servingHosts,
} from '@multiplane/component-base';
import { ReverseProxy } from '@multiplane/reverse-proxy';
import { GroupFilter } from './authentication/group-filter.ts';
import { OptionalAuthentication } from './authentication/optional-authentication.ts';
import { FrontProxyHandler } from './front-proxy-handler.ts';
import { IndexFeeder } from './index/index-feeder.ts';
import { WorkspaceIndex } from './index/workspace-index.ts';
import { identityHeaderFilter, readMappings } from './mapping/mapping-file.ts';
import { MetricsAccess } from './metrics-access.ts';
import type { FrontProxyOptions } from './options.ts';
import { ProxyMetrics } from './proxy-metrics.ts';
import { Router } from './routing/router.ts';

export interface FrontProxyModules {
  readonly logger: Logger;
  /** Ends the proxy, gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
}

/**
 * The front-proxy, wired from its parts: the shards' objects → index → router, and listener → handler → reverse proxies.
 * It has no state of its own and any number of them may run. Runs until the signal aborts; throws when something failed
 * that it cannot live without.
 */
export async function runFrontProxy(
  options: FrontProxyOptions,
  { logger, signal, version }: FrontProxyModules,
): Promise<void> {
  const clock = systemClock;
  if (options.makesCertificate)
    await ensureServingCertificate({ folder: options.rootDirectory, name: 'apiserver', hosts: servingHosts(options) });
  const watcher = new CertificateWatcher({}, { clock, logger });
  const health = new HealthChecks();
  const registry = new MetricsRegistry();

  // Which shard has what.
  const shardConfig = watchClientConfig({ file: options.shardsKubeconfig }, { watcher });
  const rootConfig = watchClientConfig({ file: options.rootKubeconfig }, { watcher });
  const index = new WorkspaceIndex();
  const feeder = new IndexFeeder({
    index,
    rootConfig: () => rootConfig.current,
    shardConfig: () => shardConfig.current,
    silenceMs: options.upstreamGiveUpTimeout,
    clock,
    logger,
  });
  const rootTransport = new RestTransport({
    config: () => rootConfig.current,
    userAgent: 'multiplane-front-proxy',
    silenceMs: options.upstreamGiveUpTimeout,
  });

  // Where requests go, and as what.
  const mappings = readMappings(readFileSync(options.mappingFile, 'utf8'), { watcher });
  const upstreamOptions = {
    connectTimeoutMs: options.upstreamConnectTimeout,
    silenceMs: options.upstreamSilenceTimeout,
    probeTimeoutMs: options.upstreamProbeTimeout,
    giveUpMs: options.upstreamGiveUpTimeout,
    writeGiveUpMs: options.upstreamWriteGiveUpTimeout,
  };
  const onHealth = (url: string, alive: boolean): void => {
    if (alive) logger.info('a server behind answers again', { url });
    else logger.warn('a server behind does not answer', { url });
  };
  const proxies = new Map(
    mappings.map((mapping) => [
      mapping,
      new ReverseProxy(upstreamOptions, { identity: mapping.identity, clock, onHealth }),
    ]),
  );
  const router = new Router(mappings, { index, isIncomplete: () => feeder.isIncomplete });

  // Who asks.
  const now = (): number => clock.now();
  const clientAuthorities = watchAuthorities(watcher, options.clientCaFile);
  const proxyAuthorities = watchAuthorities(watcher, options.requestheaderClientCaFile);
  const serviceAccounts = new ServiceAccountReads(defaultServiceAccountReadsOptions, {
    clock,
    clientOf: (cluster) => {
      const transport = feeder.transportOf(index.shardOf(cluster)?.name);
      return transport === undefined ? undefined : new RestClient({ transport });
    },
  });
  const requestHeader = configuredRequestHeader(options, { users: clientAuthorities, proxies: proxyAuthorities, now });
  const others = configuredTokens(options, { watcher, clock });
  const authentication = new OptionalAuthentication({
    requestHeader,
    clientAuthorities,
    additional: additionalMethods(options, { serviceAccounts, now, others: others.authenticators }),
    passesTokensOn: options.features.enabled('WorkspaceAuthentication'),
    now,
  });
  const metricsAccess = new MetricsAccess({ transport: rootTransport, clock });

  const connections = new ConnectionTable(defaultConnectionLimits);
  const metrics = new ProxyMetrics(registry, { index });
  const handler = new FrontProxyHandler(
    { corsAllowedOrigins: options.corsAllowedOrigins.map((pattern) => new RegExp(pattern)) },
    {
      router,
      authentication,
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
      proxyOf: (mapping) => proxies.get(mapping) as ReverseProxy,
      mayReadMetrics: (user) => metricsAccess.allows(user),
      onAuthenticated: ({ socket }) => connections.authenticated(socket),
      health,
      registry,
      metrics,
      clock,
      logger,
    },
  );
  const certificate = watchServingCertificate(
    {
      certificateFile: options.certificateFile,
      privateKeyFile: options.privateKeyFile,
      clientCaFiles: [options.clientCaFile, options.requestheaderClientCaFile].filter((file) => file !== undefined),
    },
    { watcher },
  );
  const server = new HttpServer(
    {
      ...defaultHttpServerOptions,
      ...certificate.current,
      host: options.bindAddress,
      port: options.securePort,
    },
    { connections, handle: handler.handle, clock, onHandshakeError: () => metrics.handshakeErrors.add(1) },
  );
  certificate.onChange((value) => server.reloadCertificate(value));
  health.add('index', () => feeder.check(), { endpoints: ['readyz'] });

  const lifecycle = new Lifecycle(
    { groups: ['index', 'serving'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  lifecycle.add('index', new EventLoopMonitor({}, { logger, metrics: registry, clock }));
  lifecycle.add('index', watcher);
  lifecycle.add('index', others.runnable);
  lifecycle.add('index', feeder);
  lifecycle.add('serving', {
    name: 'listener',
    start: () => server.start(),
    stop: async () => {
      for (const proxy of proxies.values()) proxy.endLongRunning();
      await server.stop();
      await Promise.all([...proxies.values()].map((proxy) => proxy.close()));
      rootTransport.close();
    },
  });
  for (const gate of options.features.unknown) logger.warn('unknown feature gate', { gate });
  await lifecycle.run(signal, () => logger.info('ready', { port: server.port, version }));
}

/** Token file, service account keys, tokens of others; with any of them every request must be somebody's (C11.4). */
function additionalMethods(
  options: FrontProxyOptions,
  modules: {
    readonly serviceAccounts: ServiceAccountReads;
    readonly now: () => number;
    /** Asked last. */
    readonly others: readonly TokenAuthenticator[];
  },
): RequestAuthenticator[] {
  const authenticators: TokenAuthenticator[] = [];
  if (options.tokenAuthFile !== undefined) {
    const tokens = new StaticTokenAuthenticator();
    for (const { token, user } of parseTokenFile(readFileSync(options.tokenAuthFile, 'utf8'))) tokens.add(token, user);
    authenticators.push(tokens);
  }
  if (options.serviceAccountKeyFile.length > 0) {
    const verificationKeys = options.serviceAccountKeyFile.map((file) => createPublicKey(readFileSync(file, 'utf8')));
    authenticators.push(
      new ServiceAccountTokens(
        { issuers: options.serviceAccountIssuer, verificationKeys, now: modules.now },
        { getter: modules.serviceAccounts },
      ),
    );
  }
  authenticators.push(...modules.others);
  if (authenticators.length === 0) return [];
  const tokens = new UnionTokenAuthenticator({ authenticators });
  return [new BearerTokenAuthenticator({ audiences: options.apiAudiences }, { tokens })];
}

function watchAuthorities(watcher: CertificateWatcher, file: string | undefined): CertificateAuthorities | undefined {
  if (file === undefined) return undefined;
  const watched: Watched<readonly X509Certificate[]> = watcher.watch(file, (readText) =>
    parseCertificates(readText(file), file),
  );
  return { current: () => watched.current };
}
