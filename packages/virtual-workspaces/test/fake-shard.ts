import type { GroupVersionResource, JsonObject, KubeObject, UserInfo } from '@multiplane/apimachinery';
import type { EmbeddedServer, EmbeddingHost } from '@multiplane/apiserver';
import type { RestTransport } from '@multiplane/client';
import { createLogger, HealthChecks, ObjectFaults, systemClock } from '@multiplane/component-base';
import {
  type AuditEvent,
  AuditPolicy,
  type BaseExchange,
  BufferedExchange,
  type BufferedRequest,
  type BufferedResponse,
  type Exchange,
} from '@multiplane/generic-server';
import type { WatchCache } from '@multiplane/storage';
import { embedVirtualWorkspaces } from '../src/embed.ts';
import { FakeInformer } from './fake-informer.ts';

const logger = createLogger({ level: 'error', format: 'text' }, { write: () => {} });

/** A request to the shard's handler chain. */
export interface Dispatched {
  readonly method: string;
  readonly url: string;
  readonly user: UserInfo;
  readonly exchange: Exchange;
}

/** An open watch. */
export interface OpenStream {
  readonly events: readonly { readonly type: string; readonly object: JsonObject }[];
  readonly started: boolean;
  readonly ended: boolean;
  /** Disconnects the client. */
  abort(): void;
  /** Resolves when the server has finished with the request. */
  readonly handled: Promise<void>;
}

/** FOR TESTS: a shard with embedded virtual workspaces that records the requests it receives. */
export class FakeShard {
  /** The caller of requests; undefined: credentials that are not authenticated. */
  caller: UserInfo | undefined = { name: 'ann', uid: '7', groups: ['system:authenticated'], extra: {} };
  /** What access reviews answer. */
  allows: (spec: JsonObject, cluster: string, deep: boolean) => boolean = () => true;
  /** The response to all other requests. */
  answer: (request: Dispatched) => Promise<void> | void = ({ exchange }) => {
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(200, '{"kind":"WidgetList","items":[]}');
  };
  /** Cached objects of a cache server in the same process. */
  cachedObjects: WatchCache | undefined;
  /** Connection to a cache server in another process. */
  cacheServer: RestTransport | undefined;
  /** All requests except access reviews. */
  readonly requests: Dispatched[] = [];
  readonly auditEvents: AuditEvent[] = [];
  readonly health = new HealthChecks();
  readonly #informers = new Map<string, FakeInformer<KubeObject>>();
  readonly #open: AbortController[] = [];
  #server: Promise<EmbeddedServer> | undefined;

  informer<T extends KubeObject>({ resource }: Pick<GroupVersionResource, 'resource'>): FakeInformer<T> {
    let informer = this.#informers.get(resource);
    if (informer === undefined) this.#informers.set(resource, (informer = new FakeInformer()));
    return informer as unknown as FakeInformer<T>;
  }

  /** {@link requests} as decoded lines. */
  get lines(): string[] {
    return this.requests.map(({ method, url }) => decodeURIComponent(`${method} ${url}`));
  }

  async send(
    url: string,
    request: Partial<BufferedRequest> = {},
    client: Partial<Exchange> = {},
  ): Promise<BufferedResponse> {
    const parent = { socket: {}, signal: new AbortController().signal, ...client } as unknown as Exchange;
    const exchange = new OnceReadExchange(parent, url, { method: 'GET', ...request });
    await this.handle(exchange);
    return exchange.response();
  }

  /** Opens a watch. */
  open(url: string): OpenStream {
    const client = new AbortController();
    this.#open.push(client);
    const parent = { socket: {}, signal: client.signal } as unknown as Exchange;
    const exchange = new LiveExchange(parent, url, { method: 'GET' });
    const handled = this.handle(exchange);
    return {
      get events() {
        const lines = exchange.text.split('\n').filter((line) => line !== '');
        return lines.map((line) => JSON.parse(line) as OpenStream['events'][number]);
      },
      get started() {
        return exchange.headersSent;
      },
      get ended() {
        return exchange.finished;
      },
      abort: () => client.abort(),
      handled,
    };
  }

  /** Disconnects all clients and stops the virtual workspaces. */
  async close(): Promise<void> {
    for (const client of this.#open) client.abort();
    for (const runnable of (await this.#server)?.runnables ?? []) await runnable.stop();
  }

  async handle(exchange: Exchange): Promise<void> {
    const server = await this.#start();
    const edge = Object.assign(exchange, { ended: false, client: false, bytesSent: 0 });
    await server.handle(edge as unknown as BaseExchange);
  }

  async #start(): Promise<EmbeddedServer> {
    this.#server ??= Promise.resolve(embedVirtualWorkspaces({ version: '1' })(this.#host()));
    return this.#server;
  }

  #host(): EmbeddingHost {
    const source = { informer: (resource: GroupVersionResource) => this.informer(resource) };
    return {
      clock: systemClock,
      logger,
      health: this.health,
      faults: new ObjectFaults({}),
      authenticator: {
        authenticate: () =>
          this.caller === undefined
            ? Promise.reject(new Error('unknown credentials'))
            : Promise.resolve({ user: this.caller }),
      },
      informers: source,
      globalInformers: source,
      cachedObjects: () => this.cachedObjects,
      cacheServer: this.cacheServer,
      audit: {
        policy: AuditPolicy.parse(
          'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]',
        ),
        backend: { process: async (event: AuditEvent) => void this.auditEvents.push(event), close: async () => {} },
        clock: systemClock,
        logger,
      },
      reviewAuthorizer: {
        authorize: async ({ user, cluster = '', deep = false, isResourceRequest, path, verb, ...attributes }) => {
          const { group, version, resource, subresource, namespace, name } = attributes;
          const asked = isResourceRequest
            ? { resourceAttributes: { verb, group, version, resource, subresource, namespace, name } }
            : { nonResourceAttributes: { verb, path } };
          const { name: userName, uid, groups } = user;
          const allowed = this.allows({ user: userName, uid, groups: [...groups], ...asked }, cluster, deep);
          return { decision: allowed ? 'allow' : 'noOpinion', reason: allowed ? 'yes' : 'no' };
        },
      } satisfies EmbeddingHost['reviewAuthorizer'],
      dispatch: (exchange: Exchange, user: UserInfo, url: string) => this.dispatch(exchange, user, url),
    } as unknown as EmbeddingHost;
  }

  /** The shard's handler chain. */
  async dispatch(exchange: Exchange, user: UserInfo, url: string): Promise<void> {
    const { method } = exchange;
    if (!url.endsWith('/subjectaccessreviews') || user.name === this.caller?.name) {
      const dispatched = { method, url, user, exchange };
      this.requests.push(dispatched);
      await this.answer(dispatched);
      return;
    }
    const { spec } = JSON.parse((await exchange.readBody(1_000_000)).toString()) as { spec: JsonObject };
    const deep = exchange.headers['x-kcp-internal-deep-subjectaccessreview'] === 'true';
    const allowed = this.allows(spec, url.split('/')[2] ?? '', deep);
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(201, JSON.stringify({ status: { allowed, reason: allowed ? 'yes' : 'no' } }));
  }
}

/** An exchange whose response is visible while it is written. */
class LiveExchange extends BufferedExchange {
  text = '';
  finished = false;
  override write(chunk: Buffer, done?: () => void): boolean {
    this.text += chunk.toString();
    return super.write(chunk, done);
  }
  override end(): void {
    this.finished = true;
    super.end();
  }
}

/** The body of a request can be read once, as that of a connection. */
class OnceReadExchange extends BufferedExchange {
  #isRead = false;
  override readBody(limit: number): Promise<Buffer> {
    const isRead = this.#isRead;
    this.#isRead = true;
    return isRead ? Promise.resolve(Buffer.alloc(0)) : super.readBody(limit);
  }
}
