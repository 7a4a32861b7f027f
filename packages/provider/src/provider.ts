import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KubeObject } from '@multiplane/apimachinery';
import {
  LeaderElector,
  LeadershipLostError,
  RestClient,
  RestClientMetrics,
  RestTransport,
  watchClientConfig,
  WorkQueueMetrics,
  type ClientConfig,
  parseResource,
} from '@multiplane/client';
import {
  addProcessMetrics,
  CertificateWatcher,
  createLogger,
  HealthChecks,
  logFailures,
  MetricsRegistry,
  ShutdownSignal,
  systemClock,
  untilAborted,
  type Clock,
  type Logger,
  type SignalSource,
} from '@multiplane/component-base';
import { EndpointSet } from './endpoints/endpoint-set.ts';
import { endpointSourceOf, type EndpointSelection } from './endpoints/endpoint-source.ts';
import { Endpoint } from './endpoints/endpoint.ts';
import { workspaceAddressOf, type WorkspaceAddress } from './endpoints/workspace-address.ts';
import { ResourceReconciler } from './reconciling/resource-reconciler.ts';
import { ResourceBuilder, type ResourceSettings } from './resource-builder.ts';
import { HealthServer } from './serving/health-server.ts';
import { ProviderMetrics } from './serving/provider-metrics.ts';

export interface ProviderOptions extends EndpointSelection {
  /** File with the credentials; the server of its context is the provider's workspace. Or what such a file says. */
  readonly kubeconfig: string | ClientConfig;
  /** The current one by default. */
  readonly context?: string | undefined;
  /** Owner of applied fields and source of events; `multiplane-provider` by default. */
  readonly fieldManager?: string | undefined;
  /** The Lease, in the provider's workspace, of the process that reconciles; `false`: every process does. */
  readonly leaderElection?: false | { readonly namespace?: string; readonly name?: string } | undefined;
  /** Where `/livez`, `/readyz` and `/metrics` are served; nowhere by default. */
  readonly listen?: { readonly port: number; readonly host?: string } | undefined;
  /** Keeps `metadata.managedFields` in the cache; false by default. */
  readonly keepManagedFields?: boolean | undefined;
}

export interface ProviderModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: (() => number) | undefined;
}

/** A process that has lost the Lease has ended its passes long before another one takes over. */
const leaseDurationMs = 15_000;
const graceMs = 5_000;

/** Controllers over all consumers of an export, on all shards. Name resources, then {@link run}. */
export class Provider {
  readonly #options: ProviderOptions;
  readonly #modules: ProviderModules;
  readonly #at: WorkspaceAddress;
  readonly #fieldManager: string;
  readonly #reconcilers: ResourceReconciler<never>[] = [];
  readonly #registry = new MetricsRegistry();
  readonly #requests = new RestClientMetrics(this.#registry);
  readonly #queues = new WorkQueueMetrics(this.#registry);
  readonly #metrics: ProviderMetrics;
  readonly #transport: RestTransport;
  /** The kubeconfig is read again when it, or a file that it names, changes. */
  readonly #files: CertificateWatcher;
  readonly #config: () => ClientConfig;
  readonly #endpoints: EndpointSet;
  readonly #server: HealthServer;
  readonly #abort = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  #isLeader = false;
  #leading: Promise<void> = Promise.resolve();

  /** Throws for options that contradict each other and a kubeconfig that cannot be read. */
  constructor(options: ProviderOptions, modules: ProviderModules) {
    this.#options = options;
    this.#modules = modules;
    const { kubeconfig, context, fieldManager = 'multiplane-provider' } = options;
    const source = endpointSourceOf(options);
    this.#files = new CertificateWatcher({}, modules);
    const config =
      typeof kubeconfig === 'string'
        ? watchClientConfig({ file: kubeconfig, context }, { watcher: this.#files })
        : { current: kubeconfig };
    this.#config = () => config.current;
    this.#fieldManager = fieldManager;
    this.#at = workspaceAddressOf(this.#config().server);
    this.#transport = new RestTransport({
      config: this.#config,
      userAgent: fieldManager,
      idleTimeoutMs: 30_000,
      metrics: this.#requests,
    });
    this.#endpoints = new EndpointSet(
      { source, at: this.#at },
      {
        ...modules,
        transport: this.#transport,
        open: (url) => this.#open(url),
        opened: (endpoint) =>
          this.#reconcilers.forEach((reconciler) => void reconciler.add(endpoint, () => this.#isListed(endpoint))),
        closing: (endpoint) => this.#reconcilers.forEach((reconciler) => void reconciler.remove(endpoint)),
        failed: (error) => this.#failed.reject(error),
      },
    );
    this.#failed.promise.catch(() => {});
    addProcessMetrics(this.#registry);
    this.#metrics = new ProviderMetrics(this.#registry, {
      isLeader: () => this.#isLeader,
      endpoints: () => {
        const all = [...this.#endpoints.endpoints];
        const failing = all.filter(({ failure }) => failure !== undefined).length;
        return { connected: all.length - failing, failing };
      },
    });
    const health = new HealthChecks();
    // A shard that does not respond is counted, and does not make the provider unready for all others.
    health.add(
      'endpoints',
      () => {
        if (this.#endpoints.failure !== undefined) throw this.#endpoints.failure;
      },
      { endpoints: ['readyz'] },
    );
    this.#server = new HealthServer({ health, registry: this.#registry });
  }

  /** Names a resource, as `<group>/<version>/<resource>`, or `<version>/<resource>` of the core group. Before the start. */
  resource<T extends KubeObject = KubeObject>(name: string): ResourceBuilder<T, this> {
    return new ResourceBuilder<T, this>(parseResource(name), (settings) => this.#add(settings));
  }

  /** Whether this process reconciles. */
  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** The port of `listen`, once started. */
  get port(): number {
    return this.#server.port;
  }

  /** Starts. Servers that do not respond are waited for in the background. */
  async start(): Promise<void> {
    const { listen } = this.#options;
    if (listen !== undefined) await this.#server.start({ host: '127.0.0.1', ...listen });
    await this.#files.start();
    this.#endpoints.start();
    this.#leading = this.#lead(this.#abort.signal);
    this.#leading.catch((error: unknown) => this.#failed.reject(error));
  }

  /** Ends passes in progress, for at most 5 s, then releases the Lease and closes all connections. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error('stopped'));
    await this.#leading.catch(() => undefined);
    await this.#endpoints.stop();
    this.#transport.close();
    await this.#files.stop();
    await this.#server.stop();
  }

  /** Starts, and stops with SIGINT or SIGTERM, or when the given signal aborts. Rejects after a failure that is for good. */
  async run({ signal, signals = process }: { signal?: AbortSignal; signals?: SignalSource } = {}): Promise<void> {
    const { logger } = this.#modules;
    using shutdown = new ShutdownSignal({ source: signals, logger, forceExit: (code) => process.exit(code) });
    const end = AbortSignal.any([shutdown.signal, this.#abort.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      await this.start();
      await untilAborted(this.#failed.promise, end);
    } finally {
      await this.stop();
    }
  }

  #add<T extends KubeObject>(settings: ResourceSettings<T>): this {
    const reconciler = new ResourceReconciler<T>(
      { ...settings, fieldManager: this.#fieldManager, graceMs },
      { ...this.#modules, metrics: this.#metrics, queueMetrics: this.#queues },
    );
    this.#reconcilers.push(reconciler as unknown as ResourceReconciler<never>);
    return this;
  }

  #open(url: string): Endpoint {
    const { keepManagedFields = false } = this.#options;
    const resources = this.#reconcilers.flatMap((reconciler) => reconciler.resources);
    return new Endpoint(
      { url, config: this.#config, resources, keepManagedFields, userAgent: this.#fieldManager },
      { ...this.#modules, metrics: this.#requests },
    );
  }

  #isListed(endpoint: Endpoint): boolean {
    return [...this.#endpoints.endpoints].includes(endpoint);
  }

  /** Caches fill whether or not this process leads, so that it takes over at once. */
  async #lead(signal: AbortSignal): Promise<void> {
    const { leaderElection = {} } = this.#options;
    const work = async (end: AbortSignal): Promise<void> => {
      this.#isLeader = true;
      try {
        await Promise.all(this.#reconcilers.map((reconciler) => reconciler.run(end)));
      } finally {
        this.#isLeader = false;
      }
    };
    if (leaderElection === false) return work(signal);
    const { clock, logger, random } = this.#modules;
    const { export: ofExport, scope, initializing, terminating } = this.#options;
    const { namespace = 'default', name = `provider-${ofExport ?? scope ?? initializing ?? terminating}` } =
      leaderElection;
    const elector = new LeaderElector(
      { cluster: this.#at.cluster, namespace, name, identity: `${hostname()}_${randomUUID()}`, leaseDurationMs },
      {
        client: new RestClient({ transport: this.#transport, pathPrefix: this.#at.pathPrefix }),
        clock,
        random,
        onFailure: logFailures(logger, 'failed to acquire or renew the lease'),
      },
    );
    while (!signal.aborted) {
      try {
        await elector.run(signal, work);
      } catch (error) {
        if (!(error instanceof LeadershipLostError)) throw error;
        logger.warn('leadership lost', { error });
      }
    }
  }
}

/** A provider that logs to standard error and follows the system's clock. */
export function provider(options: ProviderOptions, modules: Partial<ProviderModules> = {}): Provider {
  const write = (line: string): void => void process.stderr.write(line);
  return new Provider(options, { clock: systemClock, logger: createLogger({ format: 'text' }, { write }), ...modules });
}
