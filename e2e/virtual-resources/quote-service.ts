import { randomUUID } from 'node:crypto';
import { isJsonObject, statusErrors } from '@multiplane/apimachinery';
import { CustomResources, tokenRequestKind, type ResourceDefinition } from '@multiplane/apis';
import {
  AdmissionChain,
  BodyDecoder,
  DecodedObjects,
  ObjectReader,
  ObjectStore,
  resourceHandler,
  WatchHub,
  YamlWorker,
  type AdmissionAttributes,
  type AdmissionPlugin,
} from '@multiplane/apiserver';
import { silentLogger, systemClock, type Certificate } from '@multiplane/component-base';
import type { AuthorizationResult, Handler } from '@multiplane/generic-server';
import { MemoryStorage, openWatchCache, type BackedWatchCache } from '@multiplane/storage';
import {
  ApiSet,
  parseServicePath,
  StandaloneServer,
  type ApiSetHandler,
  type VirtualAttributes,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import { quoteDefinition } from './quote-definition.ts';

const pricePerCpu = 5;
/** More need a contract; the members of this group have one. */
const maxCpusWithoutContract = 64;
const contractGroup = 'customers-with-contract';

/**
 * Computes what a consumer cannot write: the price, and who asked for it. Who asks decides how much may be asked for: the
 * identity of the caller reaches the virtual workspace.
 */
class QuoteCalculator implements AdmissionPlugin {
  readonly name = 'quotes';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  admit({ object, user, name, definition }: AdmissionAttributes): undefined {
    const spec = object?.['spec'];
    if (object === undefined || !isJsonObject(spec)) return;
    const cpus = Number(spec['cpus']);
    if (cpus > maxCpusWithoutContract && !user.groups.includes(contractGroup))
      throw statusErrors.forbidden(
        definition,
        name,
        `${user.name} has no contract for more than ${maxCpusWithoutContract} CPUs`,
      );
    object['status'] = { price: cpus * pricePerCpu, requestedBy: user.name };
  }
}

/** The quotes of all consumers, in memory; several servers may share them. */
export class Quotes implements AsyncDisposable {
  readonly definition: ResourceDefinition;
  readonly handle: Handler;
  readonly #cache: BackedWatchCache;
  readonly #yaml = new YamlWorker({ clock: systemClock });

  constructor() {
    const clock = systemClock;
    const [definition] = new CustomResources().definitionsOf(quoteDefinition, new AbortController().signal);
    if (definition === undefined) throw new TypeError('the definition serves no version');
    this.definition = definition;
    this.#cache = openWatchCache({}, { storage: new MemoryStorage(), clock, onError: () => {} });
    const decoded = new DecodedObjects({ maxBytes: 1024 * 1024 });
    const reader = new ObjectReader({ decoded });
    const admission = new AdmissionChain([new QuoteCalculator()]);
    this.handle = resourceHandler({
      resolver: {
        resolve: (_cluster, group, version, resource) =>
          group === definition.group && version === definition.version && resource === definition.resource
            ? definition
            : undefined,
        list: () => [definition],
        discoveryHash: () => 'quotes',
        isBuiltInGroup: () => false,
      },
      store: new ObjectStore({ cache: this.#cache, decoded, reader, admission, clock, newUid: () => randomUUID() }),
      decoder: new BodyDecoder({ isBuiltInKind: () => false, yaml: this.#yaml }),
      authorizer: { authorize: () => Promise.resolve({ decision: 'allow', reason: '' }) },
      createHandlers: new Map(),
      hub: new WatchHub({}, { clock }),
      clock,
      random: Math.random,
      connectKind: () => tokenRequestKind,
    });
  }

  get ready(): Promise<void> {
    return this.#cache.ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache.close();
    await this.#yaml.stop();
  }
}

/** `/services/quotes/<tariff>/clusters/<consumer>/apis/pricing.example.com/v1/quotes` */
function quoteWorkspace(quotes: Quotes, serve: ApiSetHandler, log: (line: string) => void): VirtualWorkspace {
  const { definition } = quotes;
  const set = new ApiSet([{ definition, handle: ({ context }) => quotes.handle(context) }]);
  return {
    name: 'quotes',
    resolve: (target) => parseServicePath(target, 'quotes', 1),
    authorize: authorizeQuotes,
    handle: (request) => {
      const { exchange, info, user } = request.context;
      log(`${user.name} ${info.verb} ${exchange.url.split('?')[0] ?? ''}`);
      return serve(request, set);
    },
  };
}

/** The shard authorizes callers in the consumer's workspace and names them; other requests are not authenticated. */
async function authorizeQuotes({ user }: VirtualAttributes): Promise<AuthorizationResult> {
  return user.name === 'system:anonymous'
    ? { decision: 'deny', reason: 'only shards may send requests' }
    : { decision: 'allow', reason: '' };
}

export interface QuoteServiceOptions {
  /** Default: a free port. */
  readonly port?: number;
  readonly certificate: Certificate;
  /** CA (PEM) of the certificate with which shards authenticate. */
  readonly shardCa: string;
}

/** An example of a provider's own virtual workspace: a computed, writable resource behind an APIExport. */
export class QuoteService implements AsyncDisposable {
  readonly #server: StandaloneServer;
  /** Requests so far: `<user> <verb> <path>`. */
  readonly requests: string[] = [];

  private constructor(options: QuoteServiceOptions, quotes: Quotes) {
    const { port = 0, certificate, shardCa } = options;
    this.#server = new StandaloneServer(
      { host: '127.0.0.1', port, certificate, shardCa, shardNames: ['virtual-resources'], version: '1.0.0' },
      {
        clock: systemClock,
        logger: silentLogger,
        workspaces: (serve) => [quoteWorkspace(quotes, serve, (line) => void this.requests.push(line))],
      },
    );
  }

  static async start(options: QuoteServiceOptions, quotes: Quotes): Promise<QuoteService> {
    await quotes.ready;
    const service = new QuoteService(options, quotes);
    await service.#server.start();
    return service;
  }

  get port(): number {
    return this.#server.port;
  }
  /** For `status.endpoints` of an endpoint slice. */
  get url(): string {
    return `https://localhost:${this.#server.port}/services/quotes/standard`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}
