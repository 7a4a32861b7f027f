import { createHash } from 'node:crypto';
import { accepts, parseAccept } from '@multiplane/apimachinery';
import { resolveComponent, type ResourceDefinition } from '@multiplane/apis';
import { systemClock, type Clock } from '@multiplane/component-base';
import type { OpenAPIDefinitions } from '@multiplane/schema';
import { matchesTag } from '../discovery/discovery-handler.ts';
import { acceptHeader } from '../endpoints/negotiation.ts';
import type { Exchange } from '../exchange.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import { clusterSurfaces, type Surface, type SurfaceOf } from '../registry/surface.ts';
import type { Handler, RequestContext } from '../request-context.ts';
import { writeMethodNotAllowed, writeNotFoundText } from '../responses.ts';
import { SurfaceCache } from '../surface-cache.ts';
import { DocumentBuilder } from './document-builder.ts';
import { OpenAPISurface, prepareHashes } from './openapi-surface.ts';
import { openapiV2ProtobufTypes } from './protobuf-document.ts';
import { openapiV3ProtobufTypes } from './protobuf-document-v3.ts';
import { staticDocuments, type StaticDocument } from './static-documents.ts';

export interface OpenAPIOptions {
  /** `info.version` of the documents: the server's git version. */
  readonly version: string;
  /** Bytes of built documents that are kept. */
  readonly cachedBytes?: number | undefined;
  /** Definitions in all the indexes that are kept. */
  readonly cachedDefinitions?: number | undefined;
}
export type OpenAPIModules = { readonly clock?: Clock | undefined } & (
  | { readonly resolver: ResourceResolver }
  /** For a server whose surfaces hang on something else than the logical cluster. */
  | { readonly surfaceOf: SurfaceOf }
);

/** A built document, or one that is being built. */
interface Entry {
  readonly promise: Promise<Buffer>;
  bytes: number;
}

const jsonType = 'application/json';
const yearMilliseconds = 365 * 24 * 60 * 60 * 1000;
const indexPath = '/openapi/v3';

/**
 * `/openapi/v3`, its documents and `/openapi/v2`, for one logical cluster (K5.15). The index names each document by a
 * hash of what it would be built from, so listing costs no building; a document is built when somebody asks for it, and
 * shared by all tenants whose definitions agree.
 */
export function openapiHandler(options: OpenAPIOptions, modules: OpenAPIModules): Handler {
  const server = new OpenAPIServer(options, modules);
  return (context) => server.handle(context);
}

class OpenAPIServer {
  readonly #surfaceOf: SurfaceOf;
  readonly #clock: Clock;
  readonly #definitions: OpenAPIDefinitions;
  readonly #surfaces: SurfaceCache<OpenAPISurface>;
  readonly #documents: SurfaceCache<Entry>;
  readonly #builder: DocumentBuilder;
  readonly #statics: ReadonlyMap<string, StaticDocument>;

  constructor(options: OpenAPIOptions, modules: OpenAPIModules) {
    const { clock = systemClock } = modules;
    this.#surfaceOf = 'surfaceOf' in modules ? modules.surfaceOf : clusterSurfaces(modules.resolver);
    this.#clock = clock;
    this.#definitions = { resolve: resolveComponent, version: options.version };
    this.#statics = staticDocuments(this.#definitions);
    this.#surfaces = new SurfaceCache(options.cachedDefinitions ?? 16_384, (surface) => surface.size);
    this.#documents = new SurfaceCache(options.cachedBytes ?? 24 * 1024 * 1024, (entry) => entry.bytes);
    this.#builder = new DocumentBuilder({}, { definitions: this.#definitions });
  }

  async handle(context: RequestContext): Promise<void> {
    const { path } = context.info;
    const served = await this.#surfaceOf(context);
    if (served === undefined) {
      writeNotFoundText(context.exchange);
      return;
    }
    const surface = await this.#contentOf(served);
    const place = path.endsWith('/') ? path.slice(0, -1) : path;
    const known = place === '/openapi/v2' || place === indexPath || place.startsWith(`${indexPath}/`);
    if (!known) writeNotFoundText(context.exchange);
    else if (context.exchange.method !== 'GET') writeMethodNotAllowed(context);
    else if (place === '/openapi/v2') await this.#answerV2(context, surface);
    else if (place === indexPath) this.#answerIndex(context.exchange, surface);
    else await this.#answerV3(context, surface, place.slice(indexPath.length + 1));
  }

  async #contentOf(served: Surface): Promise<OpenAPISurface> {
    let definitions: readonly ResourceDefinition[] = [];
    if (!this.#surfaces.has(served.hash)) {
      definitions = served.definitions();
      await prepareHashes(definitions);
    }
    return this.#surfaces.get(
      served.hash,
      () => new OpenAPISurface(definitions, this.#definitions.version, new Date(this.#clock.now())),
    );
  }

  async #answerV3(context: RequestContext, surface: OpenAPISurface, path: string): Promise<void> {
    const { exchange, info } = context;
    const group = surface.groups.get(path);
    const hash = group?.hash ?? this.#statics.get(path)?.hash;
    if (hash === undefined) {
      exchange.respond(404, '');
      return;
    }
    const type = typeOf(exchange, openapiV3ProtobufTypes);
    if (type === undefined) {
      exchange.respond(406, '');
      return;
    }
    const wanted = info.query.get('hash');
    if (wanted !== null && wanted !== '' && wanted !== hash) {
      exchange.setHeader('location', `${prefixOf(context)}${indexPath}/${path}?hash=${hash}`);
      exchange.respond(301, '');
      return;
    }
    if (wanted === hash) {
      exchange.setHeader('cache-control', 'public, immutable');
      exchange.setHeader('expires', new Date(this.#clock.now() + yearMilliseconds).toUTCString());
    }
    exchange.setHeader('vary', 'Accept');
    const isJson = type === jsonType;
    const build = (): Promise<Buffer> => {
      if (group !== undefined)
        return isJson ? this.#builder.v3(group.definitions) : this.#builder.v3Protobuf(group.definitions);
      const { bytes, protobuf } = this.#statics.get(path) as StaticDocument;
      return Promise.resolve(isJson ? bytes : protobuf);
    };
    // Both forms have the tag of the JSON, by which the index names the document.
    await this.#answerDocument(exchange, surface, hash, build, type, isJson ? hash : `protobuf ${hash}`);
  }

  async #answerV2({ exchange }: RequestContext, surface: OpenAPISurface): Promise<void> {
    const type = typeOf(exchange, openapiV2ProtobufTypes);
    if (type === undefined) {
      exchange.respond(406, '');
      return;
    }
    exchange.setHeader('vary', ['Accept-Encoding', 'Accept']);
    const definitions = [...surface.groups.values()].flatMap((group) => group.definitions);
    await this.#answerDocument(
      exchange,
      surface,
      hashOf(`v2 ${type} ${surface.hash}`),
      () => (type === jsonType ? this.#builder.v2(definitions) : this.#builder.v2Protobuf(definitions)),
      type,
    );
  }

  #answerIndex(exchange: Exchange, surface: OpenAPISurface): void {
    if (tagged(exchange, hashOf(`index ${surface.hash}`), surface)) return;
    const documents = [...surface.groups, ...this.#statics].sort(([a], [b]) => (a < b ? -1 : 1));
    const paths = Object.fromEntries(
      documents.map(([path, { hash }]) => [path, { serverRelativeURL: `${indexPath}/${path}?hash=${hash}` }]),
    );
    // Kubernetes leaves the type of its index to be guessed; clients do not look at it.
    exchange.setHeader('content-type', 'text/plain; charset=utf-8');
    exchange.respond(200, JSON.stringify({ paths }));
  }

  async #answerDocument(
    exchange: Exchange,
    surface: OpenAPISurface,
    hash: string,
    build: () => Promise<Buffer>,
    type: string,
    /** What the document is kept under. */
    key = hash,
  ): Promise<void> {
    if (tagged(exchange, hash, surface)) return;
    const bytes = await this.#document(key, build);
    exchange.setHeader('content-type', type);
    exchange.respond(200, bytes);
  }

  /** Whoever asks while a document is being built waits for the same building. */
  #document(hash: string, build: () => Promise<Buffer>): Promise<Buffer> {
    return this.#documents.get(hash, () => {
      const entry: Entry = { promise: build(), bytes: 0 };
      void entry.promise.then(
        (document) => {
          entry.bytes = document.length;
          this.#documents.reweigh(hash);
        },
        () => this.#documents.delete(hash),
      );
      return entry;
    }).promise;
  }
}

/** Sets the validators; true: the client has this content, and was told so. */
function tagged(exchange: Exchange, hash: string, surface: OpenAPISurface): boolean {
  const etag = `"${hash}"`;
  exchange.setHeader('etag', etag);
  exchange.setHeader('last-modified', surface.createdAt.toUTCString());
  if (!matchesTag(exchange.headers['if-none-match'], etag)) return false;
  exchange.respond(304, '');
  return true;
}

/** The type to answer with: JSON unless a protobuf is wanted more; undefined when neither is. */
function typeOf(exchange: Exchange, protobufs: readonly string[]): string | undefined {
  const accept = acceptHeader(exchange.headers);
  if (accept === '') return jsonType;
  for (const clause of parseAccept(accept)) {
    if (accepts(clause, jsonType)) return jsonType;
    if (protobufs.some((type) => accepts(clause, type))) return protobufs.at(-1);
  }
  return undefined;
}

/** What stands before the path in the URL of the request (`/clusters/x`). */
function prefixOf({ exchange, info }: RequestContext): string {
  const mark = exchange.url.indexOf('?');
  const whole = mark < 0 ? exchange.url : exchange.url.slice(0, mark);
  return whole.slice(0, whole.length - info.path.length);
}

const hashOf = (content: Buffer | string): string => createHash('sha512').update(content).digest('hex').toUpperCase();
