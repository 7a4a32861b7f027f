import {
  addProcessMetrics,
  CertificateWatcher,
  ensureServingCertificate,
  EventLoopMonitor,
  HealthChecks,
  IdleGarbageCollection,
  Lifecycle,
  MetricsRegistry,
  metricsContentType,
  parseHealthRequest,
  renderHealth,
  servingHosts,
  systemClock,
  type Logger,
} from '@multiplane/component-base';
import {
  ConnectionTable,
  defaultConnectionLimits,
  defaultHttpServerOptions,
  HttpServer,
  watchServingCertificate,
  type BaseExchange,
} from '@multiplane/generic-server';
import { basePath } from './base-path.ts';
import { browserFolder } from './browser-folder.ts';
import type { ApiServer } from './api-server.ts';
import { ConsoleBackend } from './console-backend.ts';
import { readConsoleConfiguration } from './console-configuration.ts';
import { mayReadMetrics } from './metrics-access.ts';
import type { ConsoleServerOptions } from './options.ts';

export interface ConsoleModules {
  readonly logger: Logger;
  /** Aborting it stops the console gracefully. */
  readonly signal: AbortSignal;
  /** Version of this program. */
  readonly version: string;
}

/** Runs the console as a process of its own until the signal aborts. Rejects if a part fails that it needs. */
export async function runConsole(options: ConsoleServerOptions, modules: ConsoleModules): Promise<void> {
  const { logger, signal, version } = modules;
  const clock = systemClock;
  if (options.generatesCertificate)
    await ensureServingCertificate(
      { folder: options.rootDirectory, name: 'console', hosts: servingHosts(options) },
      { clock, warn: logger.warn.bind(logger) },
    );
  const watcher = new CertificateWatcher({}, { clock, logger });
  const health = new HealthChecks();
  const registry = new MetricsRegistry();
  addProcessMetrics(registry);
  const { apiServerUrl, apiServerCaFile, consoleConfigFile } = options;
  const ca =
    apiServerCaFile === undefined ? undefined : watcher.watch(apiServerCaFile, (read) => read(apiServerCaFile));
  const apiServer = (): ApiServer => ({ url: apiServerUrl, ca: ca?.current });
  const backend = new ConsoleBackend(
    {
      ...options,
      profile: 'sharded',
      issuers: consoleConfigFile === undefined ? [] : readConsoleConfiguration(consoleConfigFile),
      browserFolder: browserFolder(),
    },
    {
      server: apiServer,
      external: () => ({ url: new URL(options.apiServerExternalUrl ?? apiServerUrl).origin, ca: ca?.current }),
      version,
      clock,
      logger,
      metrics: registry,
    },
  );
  const certificate = watchServingCertificate(
    { certificateFile: options.certificateFile, privateKeyFile: options.privateKeyFile, clientCaFiles: [] },
    { watcher },
  );
  const connections = new ConnectionTable(defaultConnectionLimits);
  const operator = {
    health,
    registry,
    server: apiServer,
    alwaysAllowPaths: options.authorizationAlwaysAllowPaths,
  };
  const handle = async (exchange: BaseExchange): Promise<void> => {
    if (exchange.url.startsWith(basePath) || !(await respondToOperator(exchange, operator)))
      await backend.handle(exchange);
  };
  const server = new HttpServer(
    { ...defaultHttpServerOptions, ...certificate.current, host: options.bindAddress, port: options.securePort },
    { connections, handle, clock },
  );
  certificate.onChange((value) => server.reloadCertificate(value));
  const lifecycle = new Lifecycle(
    { groups: ['serving'], shutdownDelay: options.shutdownDelayDuration },
    { logger, health, clock },
  );
  lifecycle.add('serving', new EventLoopMonitor({}, { logger, metrics: registry, health, clock }));
  lifecycle.add('serving', new IdleGarbageCollection({ clock }));
  lifecycle.add('serving', watcher);
  lifecycle.add('serving', {
    name: 'listener',
    start: () => server.start(),
    stop: async () => {
      backend.close();
      await server.stop();
    },
  });
  await lifecycle.run(signal, () =>
    logger.info('ready', { port: server.port, path: basePath, apiServer: apiServerUrl, version }),
  );
}

interface OperatorModules {
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly server: () => ApiServer;
  readonly alwaysAllowPaths: readonly string[];
}

/** Answers what operators ask for beside the console: health checks and metrics. Returns false for other paths. */
async function respondToOperator(exchange: BaseExchange, modules: OperatorModules): Promise<boolean> {
  const mark = exchange.url.indexOf('?');
  const path = mark < 0 ? exchange.url : exchange.url.slice(0, mark);
  if (path === '/') {
    exchange.setHeader('location', basePath);
    exchange.respond(307, '');
    return true;
  }
  if (path === '/metrics') {
    await respondWithMetrics(exchange, modules);
    return true;
  }
  const probe = parseHealthRequest(path, new URLSearchParams(mark < 0 ? '' : exchange.url.slice(mark + 1)));
  if (probe === undefined) return false;
  const answer = await renderHealth(modules.health, probe);
  for (const [name, value] of Object.entries(answer.headers)) exchange.setHeader(name, value);
  exchange.respond(answer.status, answer.body);
  return true;
}

async function respondWithMetrics(exchange: BaseExchange, modules: OperatorModules): Promise<void> {
  const { registry, server, alwaysAllowPaths } = modules;
  if (!alwaysAllowPaths.includes('/metrics')) {
    const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(String(exchange.headers['authorization'] ?? '')) ?? [];
    const allowed = token === undefined ? undefined : await mayReadMetrics(server(), token).catch(() => false);
    if (allowed !== true) {
      exchange.respond(allowed === undefined ? 401 : 403, '');
      return;
    }
  }
  exchange.setHeader('content-type', metricsContentType);
  exchange.respond(200, await registry.render());
}
