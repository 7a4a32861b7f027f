import {
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
  asLogicalClusterName,
  mastersGroup,
} from '@multiplane/apimachinery';
import {
  CustomResources,
  type ResourceDefinition,
  type SlowChecks,
  builtInResources,
  tokenRequestKind,
} from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import {
  type Authorizer,
  type Exchange,
  type Handler,
  type Headers,
  parseRequestPath,
  resolveRequestInfo,
  writeStatusError,
} from '@multiplane/generic-server';
import { MemoryStorage, type Storage, type WatchCache, openWatchCache } from '@multiplane/storage';
import type { BoundApis, ExportedApis } from '../src/api-sharing/bound-apis.ts';
import { AdmissionChain } from '../src/admission/admission-chain.ts';
import { NamespaceLifecycle } from '../src/admission/namespace-lifecycle.ts';
import type { AdmissionPlugin } from '../src/admission/plugin.ts';
import { TerminatingDefinition } from '../src/admission/terminating-definition.ts';
import { BodyDecoder } from '../src/write-path/decoding/body-decoder.ts';
import { withResourceIdentity } from '../src/filters/resource-identity.ts';
import { inlineYamlReader } from '../src/write-path/decoding/yaml-reader.ts';
import type { CreateHandlers } from '../src/endpoints/create-handler.ts';
import type { CreateOutcomes } from '../src/endpoints/create-outcome.ts';
import { resourceHandler } from '../src/endpoints/resource-handler.ts';
import { WatchHub } from '../src/endpoints/watch/watch-hub.ts';
import { LoopbackClient } from '../src/loopback/loopback-client.ts';
import { DecodedObjects } from '../src/registry/store/decoded-objects.ts';
import type { DefinitionsOf } from '../src/registry/definitions/stored-definitions.ts';
import { DefinitionResolver } from '../src/registry/definitions/definition-resolver.ts';
import { ObjectConversions } from '../src/registry/conversion/object-conversions.ts';
import { ObjectReader } from '../src/registry/store/object-reader.ts';
import { ObjectStore } from '../src/registry/object-store.ts';
import { isStatusError } from '@multiplane/apimachinery';
import type { ConversionReviewer } from '../src/webhooks/conversion-review.ts';
import { FakeClock } from '@multiplane/testing';

/** The response of a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly warnings: readonly string[];
  readonly text: string;
  readonly body: JsonObject;
}

/** An exchange without a socket. `stall` makes writes report back-pressure; `chunks` contains the written bytes. */
export class TestExchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly httpVersion = '2.0';
  readonly socket = undefined as never;
  readonly answer: Record<string, string | readonly string[]> = {};
  readonly chunks: Buffer[] = [];
  readonly #body: Buffer;
  readonly #gone = new AbortController();
  #wake: (() => void)[] = [];
  status = 0;
  ended = false;
  destroyed = false;
  /** The client does not read: each write reports back-pressure. */
  stall = false;

  constructor(method: string, url: string, headers: Headers, body: Buffer) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.#body = body;
  }

  get headersSent(): boolean {
    return this.status !== 0;
  }

  get buffered(): number {
    return 0;
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }

  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#body);
  }

  setHeader(name: string, value: string | readonly string[]): void {
    this.answer[name] = value;
  }

  respond(status: number, body: Buffer | string): void {
    this.status = status;
    this.chunks.push(Buffer.from(body));
    this.ended = true;
  }

  start(status: number): void {
    this.status = status;
  }

  write(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    return !this.stall;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake.push(resolve);
    });
  }

  /** The client continues to read. */
  resume(): void {
    this.stall = false;
    for (const wake of this.#wake.splice(0)) wake();
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.leave();
  }

  /** The client disconnects. */
  leave(): void {
    this.#gone.abort(new Error('the client closed the request'));
    this.resume();
  }
}

export interface PipelineOptions {
  readonly user?: UserInfo | undefined;
  readonly plugins?: readonly AdmissionPlugin[] | undefined;
  readonly createHandlers?: CreateHandlers | undefined;
  readonly outcomes?: CreateOutcomes | undefined;
  readonly authorizer?: Authorizer | undefined;
  readonly storage?: ((memory: Storage) => Storage) | undefined;
  readonly windowBytes?: number | undefined;
  /** Limit of unread bytes over all watches. */
  readonly maxUnreadBytes?: number | undefined;
  /** Calls conversion webhooks. */
  readonly reviewer?: Pick<ConversionReviewer, 'convert'> | undefined;
  readonly slowly?: SlowChecks | undefined;
  /** Bound APIs; none by default. */
  readonly bindings?: BoundApis | undefined;
  readonly exports?: ExportedApis | undefined;
  readonly definitionsOf?: DefinitionsOf | undefined;
  /** Compiled-in kinds; those of a shard by default. */
  readonly builtIn?: readonly ResourceDefinition[] | undefined;
}

const master: UserInfo = { name: 'admin', uid: '1', groups: [mastersGroup], extra: {} };

/** A logical cluster with the resource pipeline below the handler chain, on memory storage and a fake clock. */
export class Pipeline {
  readonly cluster: LogicalClusterName = asLogicalClusterName('root');
  readonly clock: FakeClock;
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: DefinitionResolver;
  readonly store: ObjectStore;
  readonly client: LoopbackClient;
  readonly hub: WatchHub;
  readonly #handler: Handler;
  readonly #user: UserInfo;
  /** Requests in flight, such as watches. */
  readonly #open = new Set<TestExchange>();
  readonly #stop = new AbortController();

  private constructor(options: PipelineOptions, cache: WatchCache, clock: FakeClock) {
    this.clock = clock;
    this.cache = cache;
    this.#user = options.user ?? master;
    const decoded = new DecodedObjects({ maxBytes: 16 * 1024 * 1024 });
    const { reviewer } = options;
    const conversions =
      reviewer === undefined ? undefined : new ObjectConversions({ maxBytes: 1024 * 1024 }, { reviewer, decoded });
    this.reader = new ObjectReader({ decoded, conversions });
    const builtIn = options.builtIn ?? builtInResources();
    const custom = new CustomResources();
    this.resolver = new DefinitionResolver({
      cache,
      reader: this.reader,
      builtIn,
      definitionsOf:
        options.definitionsOf ?? ((crd, retired, identity) => custom.definitionsOf(crd, retired, identity)),
      bindings: options.bindings,
      exports: options.exports,
    });
    this.resolver.start();
    const admission = new AdmissionChain([
      new NamespaceLifecycle({ cache, isClusterEnding: () => false }),
      new TerminatingDefinition(),
      ...(options.plugins ?? []),
    ]);
    let uids = 0;
    this.store = new ObjectStore({
      cache,
      decoded,
      reader: this.reader,
      resolver: this.resolver,
      admission,
      clock,
      slowly: options.slowly,
      newUid: () => `00000000-0000-4000-8000-${String(++uids).padStart(12, '0')}`,
    });
    const kinds = new Set(builtIn.map(({ group, version, kind }) => `${group}/${version}/${kind}`));
    const decoder = new BodyDecoder({
      isBuiltInKind: (group, version, kind) => kinds.has(`${group}/${version}/${kind}`),
      yaml: inlineYamlReader,
    });
    this.client = new LoopbackClient({}, { resolver: this.resolver, store: this.store });
    this.hub = new WatchHub({ maxUnreadBytes: options.maxUnreadBytes }, { clock });
    const resources = resourceHandler({
      resolver: this.resolver,
      store: this.store,
      decoder,
      authorizer: options.authorizer ?? { authorize: () => Promise.resolve({ decision: 'noOpinion', reason: '' }) },
      createHandlers: options.createHandlers ?? new Map(),
      outcomes: options.outcomes,
      hub: this.hub,
      clock,
      random: () => 0.5,
      connectKind: () => tokenRequestKind,
    });
    this.#handler = withResourceIdentity(resources);
  }

  static async open(options: PipelineOptions = {}): Promise<Pipeline> {
    const clock = new FakeClock(Date.parse('2026-01-02T03:04:05Z'));
    const memory = new MemoryStorage({ now: () => clock.now(), expiryIntervalMs: 0 });
    const cache = openWatchCache(
      { windowBytes: options.windowBytes },
      { storage: options.storage?.(memory) ?? memory, clock, onError: () => undefined },
    );
    await cache.ready;
    const pipeline = new Pipeline(options, cache, clock);
    await pipeline.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'default' } });
    return pipeline;
  }

  async close(): Promise<void> {
    for (const exchange of this.#open) exchange.leave();
    await this.cache.close();
  }

  /** The server stops. */
  stop(): void {
    this.#stop.abort(new Error('the server is stopping'));
  }

  /** Sends a request and waits for the response; errors become responses as in the handler chain. */
  async ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const { exchange, warnings, done } = this.start(method, path, body, headers);
    await done;
    const { text } = exchange;
    const json = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {};
    return { status: exchange.status, headers: exchange.answer, warnings, text, body: json };
  }

  /** {@link ask}; throws for any other status. */
  async must(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<JsonObject> {
    const answer = await this.ask(method, path, body, headers);
    if (answer.status !== status)
      throw new Error(`${method} ${path}: wanted ${status}, got ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  /** Sends a request without waiting, such as a watch. */
  start(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): { readonly exchange: TestExchange; readonly warnings: string[]; readonly done: Promise<void> } {
    const bytes =
      body === undefined
        ? Buffer.alloc(0)
        : Buffer.isBuffer(body)
          ? body
          : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    const inPath = /^\/clusters\/([^/]+)\//.exec(path)?.[1] as LogicalClusterName | '*' | undefined;
    const target = parseRequestPath(inPath === undefined ? `/clusters/${this.cluster}${path}` : path);
    const info = resolveRequestInfo(method, target, inPath ?? this.cluster);
    const exchange = new TestExchange(method, path, headers, bytes);
    const warnings: string[] = [];
    const signal = AbortSignal.any([exchange.signal, this.#stop.signal]);
    const context = {
      exchange,
      info,
      user: this.#user,
      auditId: 'test',
      receivedAt: this.clock.now(),
      signal,
      work: new RequestWork({ flow: info.cluster, signal: () => signal }),
      warn: (text: string) => void warnings.push(text),
    };
    this.#open.add(exchange);
    const done = (async () => this.#handler(context))()
      .catch((error: unknown) => {
        if (isStatusError(error)) writeStatusError(context, error);
        else if (!exchange.signal.aborted) throw error;
      })
      .finally(() => this.#open.delete(exchange));
    return { exchange, warnings, done };
  }

  /** Creates a CustomResourceDefinition and sets the conditions that its controller would set. */
  async serve(crd: KubeObject, cluster: LogicalClusterName = this.cluster): Promise<void> {
    const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
    const created = await this.client.create(definitions, cluster, crd);
    const { names } = created['spec'] as JsonObject;
    const conditions = ['NamesAccepted', 'Established'].map((type) => ({
      type,
      status: 'True',
      reason: 'Test',
      message: '',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    }));
    const status = { ...(created['status'] as JsonObject), acceptedNames: names as JsonObject, conditions };
    await this.client.update(definitions, cluster, { ...created, status }, { subresource: 'status' });
  }
}

/** The parsed lines of a watch. */
export function framesOf(exchange: TestExchange): { type: string; object: KubeObject }[] {
  return exchange.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string; object: KubeObject });
}
