import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { accepts, parseAccept, type JsonObject } from '@multiplane/apimachinery';
import { resolveComponent, type ResourceDefinition } from '@multiplane/apis';
import { systemClock, type Clock, type ObjectFaults } from '@multiplane/component-base';
import {
  acceptHeader,
  type Exchange,
  type Handler,
  type RequestContext,
  writeNotFoundText,
} from '@multiplane/generic-server';
import type { OpenAPIDefinitions } from '@multiplane/schema';
import { matchesTag } from '../discovery/discovery-handler.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { clusterServedApis, type ServedApis, type ServedApisOf } from '../registry/definitions/served-apis.ts';
import { respondInPieces } from '../endpoints/response/respond-in-pieces.ts';
import { WeightedCache } from '../weighted-cache.ts';
import { DocumentBuilder } from './document-builder.ts';
import { OpenAPIGroupVersions, prepareHashes } from './openapi-group-versions.ts';
import { openapiV2ProtobufTypes } from './protobuf-document.ts';
import { openapiV3ProtobufTypes } from './protobuf-document-v3.ts';
import { groupDocument, staticDocuments, type StaticDocument } from './static-documents.ts';

export interface OpenAPIOptions {
  /** `info.version` of the documents: the server's git version. */
  readonly version: string;
  /**
   * Of a virtual workspace: it issues no tokens and serves no `/openapi/v2`, and every group has a document; on a shard
   * those of Kubernetes have one.
   */
  readonly isVirtual?: boolean | undefined;
  /** Limit of cached documents, in bytes. */
  readonly cachedBytes?: number | undefined;
  /** Limit of cached indexes, in definitions. */
  readonly cachedDefinitions?: number | undefined;
}
export type OpenAPIModules = { readonly clock?: Clock | undefined; readonly faults?: ObjectFaults | undefined } & (
  | { readonly resolver: ResourceResolver }
  /** For servers whose served APIs do not depend on the logical cluster alone. */
  | { readonly servedApisOf: ServedApisOf }
);

/** A document that is built or being built. */
interface Entry {
  readonly promise: Promise<Buffer>;
  /** Compressed with gzip, on demand. */
  compressed?: Promise<Buffer> | undefined;
  bytes: number;
}

const compress = promisify(gzip);
/** Responses up to this size are not compressed, as in kube-apiserver. */
const minCompressedBytes = 128 * 1024;
const jsonType = 'application/json';
const yearMilliseconds = 365 * 24 * 60 * 60 * 1000;
const indexPath = '/openapi/v3';
const maxGroupDocuments = 256;

/**
 * `/openapi/v3`, its documents and `/openapi/v2`, for one logical cluster. The index names each document by the hash of
 * its inputs, so it needs no documents; a document is built on the first request, and shared by all logical clusters
 * with equal definitions.
 */
export function openapiHandler(options: OpenAPIOptions, modules: OpenAPIModules): Handler {
  const server = new OpenAPIServer(options, modules);
  return (context) => server.handle(context);
}

class OpenAPIServer {
  readonly #servedApisOf: ServedApisOf;
  readonly #clock: Clock;
  readonly #definitions: OpenAPIDefinitions;
  readonly #groupVersions: WeightedCache<OpenAPIGroupVersions>;
  readonly #documents: WeightedCache<Entry>;
  readonly #builder: DocumentBuilder;
  readonly #statics: ReadonlyMap<string, StaticDocument>;
  readonly #isVirtual: boolean;
  /** By group. Tenants choose the groups of virtual workspaces. */
  readonly #ofGroups = new WeightedCache<StaticDocument>(maxGroupDocuments, () => 1);

  constructor(options: OpenAPIOptions, modules: OpenAPIModules) {
    const { clock = systemClock } = modules;
    this.#servedApisOf = 'servedApisOf' in modules ? modules.servedApisOf : clusterServedApis(modules.resolver);
    this.#clock = clock;
    this.#definitions = { resolve: resolveComponent, version: options.version };
    this.#isVirtual = options.isVirtual === true;
    this.#statics = staticDocuments(this.#definitions, !this.#isVirtual);
    this.#groupVersions = new WeightedCache(options.cachedDefinitions ?? 16_384, (groupVersions) => groupVersions.size);
    this.#documents = new WeightedCache(options.cachedBytes ?? 24 * 1024 * 1024, (entry) => entry.bytes);
    this.#builder = new DocumentBuilder({}, { definitions: this.#definitions, faults: modules.faults });
  }

  async handle(context: RequestContext): Promise<void> {
    const { path } = context.info;
    const served = await this.#servedApisOf(context);
    if (served === undefined) {
      writeNotFoundText(context.exchange);
      return;
    }
    const groupVersions = await this.#groupVersionsOf(served, context.info.cluster);
    const normalized = path.endsWith('/') ? path.slice(0, -1) : path;
    // As in kcp: over all logical clusters there is only the old document.
    const hasVersion3 = this.#isVirtual || context.info.cluster !== '*';
    const isKnownPath =
      (normalized === '/openapi/v2' && !this.#isVirtual) ||
      (hasVersion3 && (normalized === indexPath || normalized.startsWith(`${indexPath}/`)));
    if (!isKnownPath) writeNotFoundText(context.exchange);
    else if (normalized === '/openapi/v2') await this.#respondV2(context, groupVersions);
    else if (normalized === indexPath) this.#respondIndex(context.exchange, groupVersions);
    else await this.#respondV3(context, groupVersions, normalized.slice(indexPath.length + 1));
  }

  async #groupVersionsOf(served: ServedApis, lane: string | undefined): Promise<OpenAPIGroupVersions> {
    let definitions: readonly ResourceDefinition[] = [];
    if (!this.#groupVersions.has(served.hash)) {
      definitions = served.definitions();
      await prepareHashes(definitions, lane);
    }
    return this.#groupVersions.get(
      served.hash,
      () => new OpenAPIGroupVersions(definitions, this.#definitions.version, new Date(this.#clock.now())),
    );
  }

  async #respondV3(context: RequestContext, groupVersions: OpenAPIGroupVersions, path: string): Promise<void> {
    const { exchange, info } = context;
    const group = groupVersions.groups.get(path);
    const fixed = this.#statics.get(path) ?? this.#groupDocument(groupVersions, path);
    const hash = group?.hash ?? fixed?.hash;
    if (hash === undefined) {
      exchange.respond(404, '');
      return;
    }
    exchange.setHeader('vary', 'Accept');
    const type = typeOf(exchange, openapiV3ProtobufTypes);
    if (type === undefined) {
      exchange.respond(406, '');
      return;
    }
    const requestedHash = info.query.get('hash');
    if (requestedHash !== null && requestedHash !== '' && requestedHash !== hash) {
      exchange.setHeader('location', `${prefixOf(context)}${indexPath}/${path}?hash=${hash}`);
      exchange.respond(301, '');
      return;
    }
    if (requestedHash === hash) {
      exchange.setHeader('cache-control', 'public, immutable');
      exchange.setHeader('expires', new Date(this.#clock.now() + yearMilliseconds).toUTCString());
    }
    const isJson = type === jsonType;
    const build = (): Promise<Buffer> => {
      if (group !== undefined)
        return isJson
          ? this.#builder.v3(group.definitions, info.cluster)
          : this.#builder.v3Protobuf(group.definitions, info.cluster);
      const { bytes, protobuf } = fixed as StaticDocument;
      return Promise.resolve(isJson ? bytes : protobuf);
    };
    // Both forms have the ETag of the JSON form, by which the index names the document.
    await this.#respondDocument(context, groupVersions, hash, build, type, isJson ? hash : `protobuf ${hash}`);
  }

  async #respondV2(context: RequestContext, groupVersions: OpenAPIGroupVersions): Promise<void> {
    const { exchange, info } = context;
    exchange.setHeader('vary', ['Accept-Encoding', 'Accept']);
    const type = typeOf(exchange, openapiV2ProtobufTypes);
    if (type === undefined) {
      exchange.respond(406, '');
      return;
    }
    const definitions = (): ResourceDefinition[] =>
      [...groupVersions.groups.values()].flatMap((group) => group.definitions);
    const statics = (): JsonObject[] => [
      ...[...this.#statics.values()].map(({ document }) => document),
      ...this.#groupDocuments(groupVersions).map(([, { document }]) => document),
    ];
    await this.#respondDocument(
      context,
      groupVersions,
      hashOf(`v2 ${type} ${groupVersions.hash}`),
      () =>
        type === jsonType
          ? this.#builder.v2(definitions(), statics(), info.cluster)
          : this.#builder.v2Protobuf(definitions(), statics(), info.cluster),
      type,
    );
  }

  #respondIndex(exchange: Exchange, groupVersions: OpenAPIGroupVersions): void {
    if (respondNotModified(exchange, hashOf(`index ${groupVersions.hash}`), groupVersions)) return;
    const ofGroups = this.#groupDocuments(groupVersions);
    const documents = [...groupVersions.groups, ...this.#statics, ...ofGroups].sort(([a], [b]) => (a < b ? -1 : 1));
    const paths = Object.fromEntries(
      documents.map(([path, { hash }]) => [path, { serverRelativeURL: `${indexPath}/${path}?hash=${hash}` }]),
    );
    // As kcp. Kubernetes sets no content type for the index, so its server detects text/plain; clients ignore it.
    exchange.setHeader('content-type', jsonType);
    exchange.respond(200, JSON.stringify({ paths }));
  }

  /** The documents of groups (`apis/apps`), by path. Kubernetes has none for groups of definitions, as which kcp serves its own. */
  #groupDocuments(groupVersions: OpenAPIGroupVersions): [string, StaticDocument][] {
    return [...groupVersions.ofGroups.keys()].flatMap((group) => {
      const path = `apis/${group}`;
      const document = this.#groupDocument(groupVersions, path);
      return document === undefined ? [] : [[path, document]];
    });
  }

  #groupDocument({ ofGroups }: OpenAPIGroupVersions, path: string): StaticDocument | undefined {
    const group = path.startsWith('apis/') ? path.slice('apis/'.length) : '';
    const known = ofGroups.get(group);
    if (known === undefined || (!this.#isVirtual && (known.isCustom || group.endsWith('kcp.io')))) return undefined;
    return this.#ofGroups.get(group, () => groupDocument(group, this.#definitions));
  }

  async #respondDocument(
    context: RequestContext,
    groupVersions: OpenAPIGroupVersions,
    hash: string,
    build: () => Promise<Buffer>,
    type: string,
    /** The cache key of the document. */
    key = hash,
  ): Promise<void> {
    const { exchange } = context;
    if (respondNotModified(exchange, hash, groupVersions)) return;
    const document = this.#document(key, build);
    const bytes = await document.promise;
    exchange.setHeader('content-type', type);
    if (exchange.compresses !== true || bytes.length <= minCompressedBytes) {
      await respondInPieces(context, bytes);
      return;
    }
    const compressed = await this.#compressed(key, document, bytes);
    exchange.setHeader('content-encoding', 'gzip');
    exchange.setHeader('vary', ['Accept', 'Accept-Encoding']);
    (exchange.direct ?? exchange).respond(200, compressed);
  }

  /** Concurrent requests for a document share one build. */
  #document(hash: string, build: () => Promise<Buffer>): Entry {
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
    });
  }

  /** The gzip form, compressed once per document in Node's thread pool. */
  #compressed(key: string, entry: Entry, bytes: Buffer): Promise<Buffer> {
    if (entry.compressed === undefined) {
      entry.compressed = compress(bytes, { level: constants.Z_BEST_SPEED });
      void entry.compressed.then(
        ({ length }) => {
          entry.bytes += length;
          this.#documents.reweigh(key);
        },
        () => (entry.compressed = undefined),
      );
    }
    return entry.compressed;
  }
}

/** Sets ETag and Last-Modified; returns true if it sent 304 because the client has this content. */
function respondNotModified(exchange: Exchange, hash: string, groupVersions: OpenAPIGroupVersions): boolean {
  const etag = `"${hash}"`;
  exchange.setHeader('etag', etag);
  exchange.setHeader('last-modified', groupVersions.createdAt.toUTCString());
  if (!matchesTag(exchange.headers['if-none-match'], etag)) return false;
  exchange.respond(304, '');
  return true;
}

/** The media type of the response: the first accepted one of JSON and protobuf; undefined if neither is accepted. */
function typeOf(exchange: Exchange, protobufs: readonly string[]): string | undefined {
  const accept = acceptHeader(exchange.headers);
  if (accept === '') return jsonType;
  for (const clause of parseAccept(accept)) {
    if (accepts(clause, jsonType)) return jsonType;
    if (protobufs.some((type) => accepts(clause, type))) return protobufs.at(-1);
  }
  return undefined;
}

/** The prefix of the path in the request URL (`/clusters/x`). */
function prefixOf({ exchange, info }: RequestContext): string {
  const mark = exchange.url.indexOf('?');
  const whole = mark < 0 ? exchange.url : exchange.url.slice(0, mark);
  return whole.slice(0, whole.length - info.path.length);
}

const hashOf = (content: Buffer | string): string => createHash('sha512').update(content).digest('hex').toUpperCase();
