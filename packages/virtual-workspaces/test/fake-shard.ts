import type { GroupVersionResource, JsonObject, KubeObject, UserInfo } from '@multiplane/apimachinery';
import {
  AuditPolicy,
  type AuditEvent,
  type BaseExchange,
  type EmbeddedServer,
  type EmbeddingHost,
  type Exchange,
} from '@multiplane/apiserver';
import { createLogger, HealthChecks, systemClock } from '@multiplane/component-base';
import { BufferedExchange, type BufferedAnswer, type BufferedRequest } from '@multiplane/virtual-framework';
import { embedVirtualWorkspaces } from '../embed.ts';
import { FakeInformer } from './fake-informer.ts';

const logger = createLogger({ level: 'error', format: 'text' }, { write: () => {} });

/** What went down the shard's chain. */
export interface Dispatched {
  readonly method: string;
  readonly url: string;
  readonly user: UserInfo;
  readonly exchange: Exchange;
}

/** A watch that stays open. */
export interface OpenStream {
  readonly events: readonly { readonly type: string; readonly object: JsonObject }[];
  readonly started: boolean;
  readonly ended: boolean;
  /** The client goes. */
  abort(): void;
  /** Resolves when the server is through with it. */
  readonly handled: Promise<void>;
}

/** FOR TESTS: a shard around its virtual workspaces, which notes what they ask it. */
export class FakeShard {
  /** Who makes requests; undefined: nobody that is known, with credentials nevertheless. */
  caller: UserInfo | undefined = { name: 'ann', uid: '7', groups: ['system:authenticated'], extra: {} };
  /** What access reviews answer. */
  allows: (spec: JsonObject, cluster: string, deep: boolean) => boolean = () => true;
  /** What everything else answers. */
  answer: (request: Dispatched) => Promise<void> | void = ({ exchange }) => {
    exchange.setHeader('content-type', 'application/json');
    exchange.respond(200, '{"kind":"WidgetList","items":[]}');
  };
  /** All but access reviews. */
  readonly asked: Dispatched[] = [];
  readonly told: AuditEvent[] = [];
  readonly health = new HealthChecks();
  readonly #informers = new Map<string, FakeInformer<KubeObject>>();
  readonly #open: AbortController[] = [];
  #server: Promise<EmbeddedServer> | undefined;

  informer<T extends KubeObject>({ resource }: Pick<GroupVersionResource, 'resource'>): FakeInformer<T> {
    let informer = this.#informers.get(resource);
    if (informer === undefined) this.#informers.set(resource, (informer = new FakeInformer()));
    return informer as unknown as FakeInformer<T>;
  }

  /** Lines of {@link asked}, decoded, without reviews. */
  get lines(): string[] {
    return this.asked.map(({ method, url }) => decodeURIComponent(`${method} ${url}`));
  }

  async ask(
    url: string,
    request: Partial<BufferedRequest> = {},
    client: Partial<Exchange> = {},
  ): Promise<BufferedAnswer> {
    const parent = { socket: {}, signal: new AbortController().signal, ...client } as unknown as Exchange;
    const exchange = new BufferedExchange(parent, url, { method: 'GET', ...request });
    await this.handle(exchange);
    return exchange.answer();
  }

  /** Opens a watch. */
  open(url: string): OpenStream {
    const gone = new AbortController();
    this.#open.push(gone);
    const parent = { socket: {}, signal: gone.signal } as unknown as Exchange;
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
        return exchange.over;
      },
      abort: () => gone.abort(),
      handled,
    };
  }

  /** All clients go. */
  close(): void {
    for (const gone of this.#open) gone.abort();
  }

  async handle(exchange: Exchange): Promise<void> {
    const server = await this.#start();
    const edge = Object.assign(exchange, { ended: false, gone: false, bytesSent: 0 });
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
      authenticator: {
        authenticate: () =>
          this.caller === undefined
            ? Promise.reject(new Error('unknown credentials'))
            : Promise.resolve({ user: this.caller }),
      },
      informers: source,
      globalInformers: source,
      audit: {
        policy: AuditPolicy.parse(
          'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]',
        ),
        backend: { process: async (event: AuditEvent) => void this.told.push(event), close: async () => {} },
        clock: systemClock,
        logger,
      },
      dispatch: (exchange: Exchange, user: UserInfo, url: string) => this.dispatch(exchange, user, url),
    } as unknown as EmbeddingHost;
  }

  /** What comes down the shard's chain. */
  async dispatch(exchange: Exchange, user: UserInfo, url: string): Promise<void> {
    const { method } = exchange;
    if (!url.endsWith('/subjectaccessreviews') || user.name === this.caller?.name) {
      const dispatched = { method, url, user, exchange };
      this.asked.push(dispatched);
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

/** Shows its answer while it is being written. */
class LiveExchange extends BufferedExchange {
  text = '';
  over = false;
  override write(chunk: Buffer, done?: () => void): boolean {
    this.text += chunk.toString();
    return super.write(chunk, done);
  }
  override end(): void {
    this.over = true;
    super.end();
  }
}
