import type { Certificate } from '@multiplane/component-base';
import { type BaseExchange, ConnectionTable, defaultHttpServerOptions, HttpServer } from '@multiplane/generic-server';

type Resource = 'shards' | 'logicalclusters' | 'workspaces';
interface Stored {
  readonly resource: Resource;
  readonly cluster: string;
  readonly json: string;
}

/** A request that a fake shard received. */
export interface Echo {
  readonly shard: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

const listed = /^\/clusters\/([^/]+)\/apis\/(?:core|tenancy)\.kcp\.io\/v1alpha1\/(shards|logicalclusters|workspaces)\?/;

const single =
  /^\/clusters\/([^/]+)\/apis\/(?:core|tenancy)\.kcp\.io\/v1alpha1\/(logicalclusters|workspaces)\/([^/?]+)$/;

/** FOR TESTS: a server with watches of Shards, LogicalClusters and Workspaces, reads of single ones, and an echo of all other requests. */
export class FakeShard {
  readonly name: string;
  readonly connections = new ConnectionTable({
    beforeAuthentication: 1000,
    beforeAuthenticationPerSource: 1000,
    perUser: 1000,
    total: 1000,
  });
  /** Paths of single objects that were read. */
  readonly reads: string[] = [];
  /** All requests except those for the index. */
  readonly requests: Echo[] = [];
  /** Replaces the echo unless it returns undefined. */
  answer: ((exchange: BaseExchange) => Promise<void> | undefined) | undefined;
  /** Accepted watches get no response until {@link release}. */
  holdsWatches = false;
  /** Events wait for {@link release}. */
  holdsEvents = false;
  readonly #held: (() => void)[] = [];
  readonly #server: HttpServer;
  readonly #objects = new Map<string, Stored>();
  readonly #watches = new Set<{
    readonly resource: string;
    readonly cluster: string;
    readonly exchange: BaseExchange;
  }>();
  #version = 100;

  private constructor(name: string, options: { port: number; serving: Certificate; clientCa: readonly string[] }) {
    this.name = name;
    this.#server = new HttpServer(
      { ...defaultHttpServerOptions, host: '127.0.0.1', stopGraceMs: 1, ...options.serving, ...options },
      { connections: this.connections, handle: (exchange) => this.#handle(exchange) },
    );
  }

  static async start(
    name: string,
    options: { serving: Certificate; clientCa: readonly string[]; port?: number },
  ): Promise<FakeShard> {
    const shard = new FakeShard(name, { port: 0, ...options });
    await shard.#server.start();
    return shard;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#server.port}`;
  }

  get port(): number {
    return this.#server.port;
  }

  /** Closes all connections. */
  async stop(): Promise<void> {
    const stopped = this.#server.stop();
    this.connections.destroyAll();
    await stopped;
  }

  release(): void {
    this.holdsWatches = false;
    this.holdsEvents = false;
    for (const begin of this.#held.splice(0)) begin();
  }

  putShard(name: string, spec: object): void {
    this.put('shards', 'root', name, { spec });
  }

  putCluster(cluster: string): void {
    this.put('logicalclusters', cluster, 'cluster', {});
  }

  putWorkspace(parent: string, name: string, spec: object, phase = 'Ready'): void {
    this.put('workspaces', parent, name, { spec, status: { phase } });
  }

  put(resource: Resource, cluster: string, name: string, rest: object): void {
    const object = {
      apiVersion: resource === 'workspaces' ? 'tenancy.kcp.io/v1alpha1' : 'core.kcp.io/v1alpha1',
      kind: { shards: 'Shard', logicalclusters: 'LogicalCluster', workspaces: 'Workspace' }[resource],
      metadata: { name, resourceVersion: String(++this.#version), annotations: { 'kcp.io/cluster': cluster } },
      ...rest,
    };
    const stored = { resource, cluster, json: JSON.stringify(object) };
    this.#objects.set(`${resource}/${cluster}/${name}`, stored);
    this.#notify('MODIFIED', stored);
  }

  remove(resource: Resource, cluster: string, name: string): void {
    const key = `${resource}/${cluster}/${name}`;
    const stored = this.#objects.get(key);
    if (stored === undefined) throw new Error(`there is no ${key}`);
    this.#objects.delete(key);
    const json = stored.json.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${++this.#version}"`);
    this.#notify('DELETED', { ...stored, json });
  }

  async #handle(exchange: BaseExchange): Promise<void> {
    const watch = listed.exec(exchange.url);
    if (watch !== null) {
      const begin = (): void => this.#watch(exchange, watch[1] as string, watch[2] as string);
      if (this.holdsWatches) this.#held.push(begin);
      else begin();
      return;
    }
    const { method, url, headers } = exchange;
    const read = single.exec(url);
    if (read !== null) {
      const stored = this.#objects.get(`${read[2]}/${read[1]}/${read[3]}`);
      this.reads.push(url);
      exchange.setHeader('content-type', 'application/json');
      if (stored === undefined)
        exchange.respond(404, JSON.stringify({ kind: 'Status', apiVersion: 'v1', reason: 'NotFound', code: 404 }));
      else exchange.respond(200, stored.json);
      return;
    }
    const own = this.answer?.(exchange);
    if (own !== undefined) {
      this.requests.push({ shard: this.name, method, url, headers: { ...headers }, body: '' });
      await own;
      return;
    }
    const body = (await exchange.readBody(1_000_000)).toString();
    const echo = { shard: this.name, method, url, headers: { ...headers }, body };
    this.requests.push(echo);
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(200, JSON.stringify(echo));
  }

  #watch(exchange: BaseExchange, cluster: string, resource: string): void {
    exchange.setHeader('content-type', 'application/json');
    exchange.start(200);
    for (const stored of this.#objects.values()) {
      if (stored.resource === resource) exchange.write(Buffer.from(`{"type":"ADDED","object":${stored.json}}\n`));
    }
    const bookmark = {
      type: 'BOOKMARK',
      object: {
        metadata: {
          resourceVersion: String(this.#version),
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      },
    };
    exchange.write(Buffer.from(`${JSON.stringify(bookmark)}\n`));
    const entry = { resource, cluster, exchange };
    this.#watches.add(entry);
    exchange.signal.addEventListener('abort', () => this.#watches.delete(entry));
  }

  #notify(type: string, { resource, cluster, json }: Stored): void {
    if (this.holdsEvents) {
      this.#held.push(() => this.#notify(type, { resource, cluster, json }));
      return;
    }
    const line = Buffer.from(`{"type":"${type}","object":${json}}\n`);
    for (const watch of this.#watches) if (watch.resource === resource) watch.exchange.write(line);
  }
}
