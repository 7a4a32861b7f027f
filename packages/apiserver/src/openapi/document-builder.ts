import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { timeSlices, type ObjectFaults, type TimeSlices } from '@multiplane/component-base';
import { buildOpenAPIv2, buildOpenAPIv3, componentsOf, PathTexts, type OpenAPIDefinitions } from '@multiplane/schema';
import { WeightedCache } from '../weighted-cache.ts';
import { definitionHash, openApiResourceOf } from './openapi-group-versions.ts';
import { encodeDefinition, encodeDocument, encodePath } from './protobuf-document.ts';
import { encodeDocumentV3, encodePathV3, encodeSchemaV3 } from './protobuf-document-v3.ts';

export interface DocumentBuilderModules {
  readonly definitions: OpenAPIDefinitions;
  /** Reports definitions of tenants whose part cannot be built; absent: the document fails. */
  readonly faults?: ObjectFaults | undefined;
}

export interface DocumentBuilderOptions {
  /** Limit of cached encoded parts in bytes; default 16 MiB. */
  readonly cachedBytes?: number | undefined;
}

/** A document format: how it is derived from a v3 document, which members are merged, and how these are encoded. */
interface Format {
  readonly name: string;
  /** A document has the resources of one group version. */
  readonly isOfGroup: boolean;
  /** The members with paths and with schemas. */
  readonly memberPaths: readonly [string, string];
  convert(document: JsonObject): JsonObject;
  encode(value: Json, key: string, place: string): Buffer;
}

/** What one definition contributes to a document. */
interface Part {
  readonly paths: readonly (readonly [string, Buffer])[];
  /** Schemas of the definition itself. */
  readonly schemas: readonly (readonly [string, Buffer])[];
  /** Names of schemas that it shares with other definitions (metadata, options, Status). */
  readonly shared: readonly string[];
  readonly bytes: number;
}

/** A part that is built or being built. */
interface PartEntry {
  readonly promise: Promise<Part>;
  bytes: number;
}

/** Memory overhead of a member in addition to its bytes. */
const memberOverhead = 200;
const schemaReference = '#/components/schemas/';

/**
 * Builds OpenAPI documents one definition at a time in time slices, also within a definition, so that hundreds of large
 * definitions of one tenant do not delay others. The encoded part of each definition is cached, so one more definition
 * costs its own part. Documents are assembled from encoded parts and never exist as one tree.
 */
export class DocumentBuilder {
  readonly #modules: DocumentBuilderModules;
  readonly #pathTexts = new PathTexts();
  readonly #v2: Format;
  readonly #v2Protobuf: Format;
  /** By format and definition. */
  readonly #parts: WeightedCache<PartEntry>;
  /** Shared schemas by format and name; their number is that of built-in schemas. */
  readonly #shared = new Map<string, Buffer>();
  /** Documents without resources, by format. */
  readonly #frames = new Map<string, JsonObject>();

  constructor(options: DocumentBuilderOptions, modules: DocumentBuilderModules) {
    this.#modules = modules;
    this.#parts = new WeightedCache(options.cachedBytes ?? 16 * 1024 * 1024, ({ bytes }) => bytes);
    const convert = (document: JsonObject): JsonObject => buildOpenAPIv2([document], modules.definitions.version);
    this.#v2 = { name: 'v2', isOfGroup: false, memberPaths: ['paths', 'definitions'], convert, encode: encodeMember };
    this.#v2Protobuf = {
      name: 'v2 protobuf',
      isOfGroup: false,
      memberPaths: ['paths', 'definitions'],
      convert,
      encode: (value, key, place) => (place === 'paths' ? encodePath(key, value) : encodeDefinition(key, value)),
    };
  }

  /** OpenAPI v3 of the resources of one group version. */
  v3(definitions: readonly ResourceDefinition[], lane?: string): Promise<Buffer> {
    return this.#json(v3Format, definitions, lane);
  }

  /** {@link v3} in protobuf. */
  async v3Protobuf(definitions: readonly ResourceDefinition[], lane?: string): Promise<Buffer> {
    const { paths, schemas } = await this.#collect(v3Protobuf, definitions, timeSlices(lane));
    return encodeDocumentV3(this.#frame(v3Protobuf, definitions), sortedByKey(paths), sortedByKey(schemas));
  }

  /** OpenAPI v2 of all served resources and of v3 documents without resources. */
  v2(definitions: readonly ResourceDefinition[], others: readonly JsonObject[], lane?: string): Promise<Buffer> {
    return this.#json(this.#v2, definitions, lane, others);
  }

  /** {@link v2} in protobuf. */
  async v2Protobuf(
    definitions: readonly ResourceDefinition[],
    others: readonly JsonObject[],
    lane?: string,
  ): Promise<Buffer> {
    const { paths, schemas } = await this.#collect(this.#v2Protobuf, definitions, timeSlices(lane), others);
    return encodeDocument(this.#frame(this.#v2Protobuf, definitions), sortedByKey(paths), sortedByKey(schemas));
  }

  async #json(
    format: Format,
    definitions: readonly ResourceDefinition[],
    lane?: string,
    others: readonly JsonObject[] = [],
  ): Promise<Buffer> {
    const slices = timeSlices(lane);
    const { paths, schemas } = await this.#collect(format, definitions, slices, others);
    const chunks: Buffer[] = [];
    const members = new Map([
      [format.memberPaths[0], paths],
      [format.memberPaths[1], schemas],
    ]);
    writeFrame(this.#frame(format, definitions), '', members, chunks);
    return await concatenate(chunks, slices);
  }

  /** The encoded paths and schemas by key. */
  async #collect(
    format: Format,
    definitions: readonly ResourceDefinition[],
    slices: TimeSlices,
    others: readonly JsonObject[] = [],
  ): Promise<{ paths: Map<string, Buffer>; schemas: Map<string, Buffer> }> {
    const paths = new Map<string, Buffer>();
    const schemas = new Map<string, Buffer>();
    for (const definition of definitions) {
      if (slices.isExceeded) await slices.yield();
      const part = await this.#part(format, definition, slices);
      for (const [key, bytes] of part.paths) if (!paths.has(key)) paths.set(key, bytes);
      for (const [key, bytes] of part.schemas) if (!schemas.has(key)) schemas.set(key, bytes);
      for (const key of part.shared) {
        if (!schemas.has(key)) schemas.set(key, this.#shared.get(`${format.name} ${key}`) as Buffer);
      }
    }
    for (const document of others) {
      const converted = format.convert(document);
      for (const [place, members] of [
        [format.memberPaths[0], paths],
        [format.memberPaths[1], schemas],
      ] as const) {
        for (const [key, value] of Object.entries(memberOf(converted, place)))
          if (!members.has(key)) members.set(key, format.encode(value, key, place));
      }
    }
    return { paths, schemas };
  }

  /** Concurrent documents share the build of a part. */
  #part(format: Format, definition: ResourceDefinition, slices: TimeSlices): Promise<Part> {
    const key = `${format.name} ${definitionHash(definition)}`;
    return this.#parts.get(key, () => {
      const entry: PartEntry = { promise: this.#isolated(format, definition, slices), bytes: 0 };
      void entry.promise.then(
        ({ bytes }) => {
          entry.bytes = bytes;
          this.#parts.reweigh(key);
        },
        () => this.#parts.delete(key),
      );
      return entry;
    }).promise;
  }

  /** A definition whose part cannot be built is left out, so that the document has all others. */
  async #isolated(format: Format, definition: ResourceDefinition, slices: TimeSlices): Promise<Part> {
    try {
      return await this.#build(format, definition, slices);
    } catch (error) {
      const { faults } = this.#modules;
      if (faults === undefined || definition.definedBy === undefined) throw error;
      faults.report(definition.definedBy, new Error(`failed to build OpenAPI: ${messageOf(error)}`, { cause: error }));
      return { paths: [], schemas: [], shared: [], bytes: memberOverhead };
    }
  }

  async #build(format: Format, definition: ResourceDefinition, slices: TimeSlices): Promise<Part> {
    const { definitions } = this.#modules;
    const resource = openApiResourceOf(definition);
    // v3 JSON, the most requested form, is written without a tree of its paths.
    const texts = format === v3Format ? this.#pathTexts.of(resource) : undefined;
    const document: JsonObject =
      texts === undefined
        ? buildOpenAPIv3(definition, [resource], definitions)
        : { components: { schemas: componentsOf(resource, texts.references, definitions) } };
    if (slices.isExceeded) await slices.yield();
    const own: JsonObject = {};
    const shared: string[] = [];
    const all = memberOf(document, 'components.schemas');
    for (const key of Object.keys(all)) {
      const schema = all[key] as JsonObject;
      const inGroup = format.isOfGroup ? withGroupOf(definition, schema) : schema;
      if (inGroup !== definitions.resolve(schemaReference + key)) {
        own[key] = inGroup;
        continue;
      }
      shared.push(key);
      const id = `${format.name} ${key}`;
      if (this.#shared.has(id)) continue;
      const converted = format.convert({
        ...document,
        paths: {},
        components: { schemas: { [key]: all[key] as Json } },
      });
      const place = format.memberPaths[1];
      this.#shared.set(id, format.encode(memberOf(converted, place)[key] as Json, key, place));
    }
    const converted = format.convert({ ...document, components: { schemas: own } });
    const encoded = async (place: Format['memberPaths'][number]): Promise<Part['paths']> => {
      const members = memberOf(converted, place);
      const result: [string, Buffer][] = [];
      for (const key of Object.keys(members)) {
        if (slices.isExceeded) await slices.yield();
        result.push([key, format.encode(members[key] as Json, key, place)]);
      }
      return result;
    };
    const paths =
      texts === undefined
        ? await encoded(format.memberPaths[0])
        : texts.members.map(([key, text]): Part['paths'][number] => [key, memberOfText(text, key)]);
    const schemas = await encoded(format.memberPaths[1]);
    let bytes = shared.length * 8;
    for (const [key, member] of [...paths, ...schemas]) bytes += memberOverhead + key.length + member.length;
    return { paths, schemas, shared, bytes };
  }

  /** Kubernetes' documents of definitions do not say how to authenticate. */
  #frame(format: Format, definitions: readonly ResourceDefinition[]): JsonObject {
    const isCustom = format.isOfGroup && definitions.every(({ origin }) => origin === 'custom');
    const key = `${format.name} ${isCustom}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      const empty = buildOpenAPIv3({ group: '', version: 'v1' }, [], this.#modules.definitions);
      const schemas: JsonObject = { schemas: {} };
      const components = isCustom ? schemas : { ...schemas, ...(empty['components'] as JsonObject) };
      frame = format.convert({ ...empty, components });
      this.#frames.set(key, frame);
    }
    return frame;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const kindsOf = 'x-kubernetes-group-version-kind';

/**
 * Every group of Kubernetes has kinds of meta/v1 of its own (DeleteOptions, WatchEvent): the document of a group names those of
 * the core group and its own.
 */
function withGroupOf({ group, version, origin }: ResourceDefinition, schema: JsonObject): JsonObject {
  if (origin !== 'built-in' || group === '') return schema;
  const kinds = schema[kindsOf];
  const first = Array.isArray(kinds) && kinds.length === 1 ? kinds[0] : undefined;
  if (first === undefined || !isJsonObject(first) || first['group'] !== '' || first['version'] !== 'v1') return schema;
  if (typeof first['kind'] !== 'string' || !groupedKinds.has(first['kind'])) return schema;
  return { ...schema, [kindsOf]: [first, { group, kind: first['kind'], version }] };
}

/** Kinds that apimachinery registers with each group version (AddToGroupVersion), of those that documents refer to. */
const groupedKinds: ReadonlySet<string> = new Set(['DeleteOptions', 'WatchEvent']);

/** Encodes a member of a JSON object with its key, without commas. */
const encodeMember = (value: Json, key: string): Buffer => memberOfText(JSON.stringify(value), key);
const memberOfText = (text: string, key: string): Buffer => Buffer.from(`${JSON.stringify(key)}:${text}`);

const v3Format: Format = {
  name: 'v3',
  isOfGroup: true,
  memberPaths: ['paths', 'components.schemas'],
  convert: (document) => document,
  encode: encodeMember,
};

const v3Protobuf: Format = {
  ...v3Format,
  name: 'v3 protobuf',
  encode: (value, key, place) => (place === 'paths' ? encodePathV3(key, value) : encodeSchemaV3(key, value)),
};

function memberOf(document: JsonObject, place: string): JsonObject {
  let value: Json | undefined = document;
  for (const key of place.split('.')) value = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(value) ? value : {};
}

function sortedByKey(members: ReadonlyMap<string, Buffer>): Buffer[] {
  return [...members.keys()].sort().map((key) => members.get(key) as Buffer);
}

/** Concatenates in time slices: a document of hundreds of definitions has dozens of megabytes. */
async function concatenate(chunks: readonly Buffer[], slices: TimeSlices): Promise<Buffer> {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const whole = Buffer.allocUnsafe(length);
  let at = 0;
  for (const chunk of chunks) {
    if (slices.isExceeded) await slices.yield();
    at += chunk.copy(whole, at);
  }
  return whole;
}

const comma = Buffer.from(',');

/** Writes a document with the encoded members inserted at their paths. */
function writeFrame(
  value: JsonObject,
  place: string,
  members: ReadonlyMap<string, ReadonlyMap<string, Buffer>>,
  chunks: Buffer[],
): void {
  const merged = members.get(place);
  chunks.push(Buffer.from('{'));
  let first = true;
  if (merged !== undefined) {
    for (const bytes of sortedByKey(merged)) {
      if (!first) chunks.push(comma);
      first = false;
      chunks.push(bytes);
    }
  } else {
    for (const key of Object.keys(value)) {
      if (!first) chunks.push(comma);
      first = false;
      const member = value[key] as Json;
      const inner = place === '' ? key : `${place}.${key}`;
      if (isJsonObject(member) && containsMembers(inner, members)) {
        chunks.push(Buffer.from(`${JSON.stringify(key)}:`));
        writeFrame(member, inner, members, chunks);
      } else {
        chunks.push(encodeMember(member, key));
      }
    }
  }
  chunks.push(Buffer.from('}'));
}

function containsMembers(place: string, members: ReadonlyMap<string, unknown>): boolean {
  for (const name of members.keys()) if (name === place || name.startsWith(`${place}.`)) return true;
  return false;
}
