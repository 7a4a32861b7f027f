import {
  type Json,
  type JsonObject,
  JsonSyntaxError,
  type KubeObject,
  apiVersionOf,
  isJsonObject,
  isStatusError,
  parseApiVersion,
  parseJson,
  parseJsonInSteps,
  parseJsonStrict,
  ProtobufError,
  type ProtobufEnvelope,
  readProtobufEnvelope,
  statusErrors,
} from '@multiplane/apimachinery';
import { decodeProtobufMessage } from '@multiplane/apis';
import type { CompiledSchema } from '@multiplane/schema';
import { bodyTurn, inSteps, isBig } from '../registry/give-way.ts';
import type { RequestContext } from '../request-context.ts';
import { UnmarshalError, decodeObjectMeta, jsonType } from './object-meta-decoder.ts';
import { type FieldValidation, strictErrors } from './strict-decoding.ts';
import type { YamlDocument, YamlReader } from './yaml-reader.ts';

/** Largest body of a request (K1.7). */
export const maxBodyBytes = 3 * 1024 * 1024;

export const bodyMediaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'] as const;
export type BodyFormat = 'json' | 'yaml' | 'protobuf';

/** A body as it was sent; it can be decoded more than once. */
export interface RequestBody {
  readonly bytes: Buffer;
  readonly format: BodyFormat;
  /** Of a YAML body. */
  readonly yaml?: YamlDocument;
}

interface ParsedBody {
  readonly value: Json;
  /** Paths of members that stand twice. */
  readonly duplicates: readonly string[];
  /** The same of a YAML text, as whole messages with the line. */
  readonly repeatedKeys: readonly string[];
}

/** What a body is decoded for. */
interface Wanted {
  readonly context: Pick<RequestContext, 'warn'>;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
}

/** What is wanted of a body: of a resource, or of a subresource with a kind of its own (`Scale`). */
export interface ExpectedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly origin: 'built-in' | 'custom';
  readonly schema: Pick<CompiledSchema, 'decodeTyped' | 'decodeInSteps' | 'prune' | 'applyDefaults'>;
}

export interface BodyDecoderModules {
  /** True for a kind that is compiled in: it tells "wrong kind" from "unknown kind" (K1.7). */
  readonly isBuiltInKind: (group: string, version: string, kind: string) => boolean;
  readonly yaml: YamlReader;
}

/** Media type of the body, lower case, without parameters; empty when the header is. */
export function contentTypeOf(context: RequestContext): string {
  const header = context.exchange.headers['content-type'];
  const text = (Array.isArray(header) ? header[0] : header) as string | undefined;
  if (text === undefined) return '';
  const semicolon = text.indexOf(';');
  return (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase();
}

/** Format of a body that carries an object; throws 415. */
export function bodyFormat(context: RequestContext): BodyFormat {
  switch (contentTypeOf(context)) {
    case '':
    case 'application/json':
      return 'json';
    case 'application/yaml':
      return 'yaml';
    case 'application/vnd.kubernetes.protobuf':
      return 'protobuf';
    default:
      throw statusErrors.unsupportedMediaType(bodyMediaTypes);
  }
}

/** Turns bodies and patched documents into objects of a kind (K1.7, K5.4). */
export class BodyDecoder {
  readonly #modules: BodyDecoderModules;

  constructor(_options: Record<string, never>, modules: BodyDecoderModules) {
    this.#modules = modules;
  }

  /** The object in a request's body; warnings for `Warn`, 400 for `Strict`. */
  async decode(context: RequestContext, expected: ExpectedKind, validation: FieldValidation): Promise<KubeObject> {
    return this.decodeBody(await this.readBody(context), context, expected, validation);
  }

  /** Reads the body of a request; throws 413 and 415. */
  async readBody(context: RequestContext): Promise<RequestBody> {
    const format = bodyFormat(context);
    const bytes = await context.exchange.readBody(maxBodyBytes);
    const turn = bodyTurn(bytes.length);
    if (turn !== undefined) await turn;
    return format === 'yaml' ? { bytes, format, yaml: await this.readYaml(bytes) } : { bytes, format };
  }

  readYaml(bytes: Buffer): Promise<YamlDocument> {
    return this.#modules.yaml.read(bytes);
  }

  /** Each call gives a new object. Others get a turn between the passes over a big one, nobody waits for another. */
  decodeBody(
    body: RequestBody,
    context: Pick<RequestContext, 'warn'>,
    expected: ExpectedKind,
    validation: FieldValidation,
  ): KubeObject | Promise<KubeObject> {
    // Protobuf passes over what it does not know, and cannot name it: there is nothing to be strict about (K1.7).
    if (body.format === 'protobuf') validation = 'Ignore';
    const { length } = body.bytes;
    const wanted = { context, expected, validation };
    if (isBig(length)) return inSteps(this.#decodeInSteps(body, wanted), length);
    const parsed = this.#parse(body, expected, validation);
    const object = this.#objectIn(parsed, body, expected);
    let unknown: readonly string[];
    try {
      unknown = this.shapeDocument(object, expected);
    } catch (error) {
      throw misfit(error, object, expected);
    }
    if (isWorthTelling(validation, parsed, unknown)) {
      // Typed decoders report in the order of the document, which pruning has changed by now: read it once more.
      const document = expected.origin === 'built-in' ? this.#parse(body, expected, 'Ignore').value : undefined;
      report(object, parsed, strictErrors(parsed.duplicates, unknown, document), wanted);
    }
    return object as unknown as KubeObject;
  }

  *#decodeInSteps(body: RequestBody, wanted: Wanted): Generator<void, KubeObject> {
    const { expected, validation } = wanted;
    const parsed = yield* this.#parseInSteps(body, expected, validation);
    const object = this.#objectIn(parsed, body, expected);
    yield;
    let unknown: readonly string[];
    try {
      unknown = yield* this.shapeInSteps(object, expected);
    } catch (error) {
      throw misfit(error, object, expected);
    }
    if (isWorthTelling(validation, parsed, unknown)) {
      yield;
      const typed = expected.origin === 'built-in';
      const document = typed ? (yield* this.#parseInSteps(body, expected, 'Ignore')).value : undefined;
      yield;
      report(object, parsed, strictErrors(parsed.duplicates, unknown, document), wanted);
    }
    return object as unknown as KubeObject;
  }

  #objectIn({ value }: ParsedBody, body: RequestBody, expected: ExpectedKind): JsonObject {
    const object: JsonObject = value === null ? {} : (value as JsonObject);
    this.#checkKind(object, body.bytes, expected);
    return object;
  }

  /**
   * Brings a document into the shape of its kind, in place: types, unknown fields, metadata, defaults. Returns the paths
   * of unknown fields; throws {@link UnmarshalError} when types do not fit.
   */
  shapeDocument(
    document: JsonObject,
    expected: ExpectedKind,
    options?: { readonly keepNulls?: boolean | undefined },
  ): readonly string[] {
    const resets = resetsManagedFields(document);
    decodeTypes(document, expected);
    const { unknownFields } = expected.schema.prune(document);
    shapeMetadata(document, resets);
    expected.schema.applyDefaults(document, options);
    return unknownFields;
  }

  /** {@link shapeDocument} with pauses between its passes. */
  *shapeInSteps(
    document: JsonObject,
    expected: ExpectedKind,
    options?: { readonly keepNulls?: boolean | undefined },
  ): Generator<void, readonly string[]> {
    const resets = resetsManagedFields(document);
    yield* decodeTypesInSteps(document, expected);
    yield;
    const { unknownFields } = expected.schema.prune(document);
    yield;
    shapeMetadata(document, resets);
    yield;
    expected.schema.applyDefaults(document, options);
    return unknownFields;
  }

  #parse(body: RequestBody, expected: ExpectedKind, validation: FieldValidation): ParsedBody {
    const { bytes, format, yaml } = body;
    if (format === 'protobuf') {
      return { value: this.#parseProtobuf(bytes, expected), duplicates: [], repeatedKeys: [] };
    }
    let parsed: ParsedBody;
    try {
      if (yaml !== undefined) {
        const { value, duplicates } = yaml();
        parsed = { value, duplicates: [], repeatedKeys: duplicates };
      } else if (validation === 'Ignore') {
        parsed = { value: parseJson(bytes), duplicates: [], repeatedKeys: [] };
      } else {
        parsed = { ...parseJsonStrict(bytes), repeatedKeys: [] };
      }
    } catch (error) {
      throw unreadable(error, body, expected);
    }
    checkIsObject(parsed.value, bytes, expected);
    return parsed;
  }

  *#parseInSteps(body: RequestBody, expected: ExpectedKind, validation: FieldValidation): Generator<void, ParsedBody> {
    const { bytes, format } = body;
    if (format !== 'json') return this.#parse(body, expected, validation);
    let parsed: ParsedBody;
    try {
      parsed = { ...(yield* parseJsonInSteps(bytes, validation !== 'Ignore')), repeatedKeys: [] };
    } catch (error) {
      throw unreadable(error, body, expected);
    }
    checkIsObject(parsed.value, bytes, expected);
    return parsed;
  }

  /** The object in an envelope (K1.4). Custom resources have no messages, only those that bring back a native kind do. */
  #parseProtobuf(body: Buffer, expected: ExpectedKind): JsonObject {
    let envelope: ProtobufEnvelope;
    try {
      envelope = readProtobufEnvelope(body);
    } catch (error) {
      throw unrecognized(expected, (error as Error).message, body);
    }
    const head: JsonObject = {
      kind: envelope.kind === '' ? expected.kind : envelope.kind,
      apiVersion: envelope.apiVersion === '' ? apiVersionOf(expected) : envelope.apiVersion,
    };
    this.#checkKind(head, body, expected);
    try {
      return decodeProtobufMessage(head['apiVersion'] as string, head['kind'] as string, envelope.message);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      throw statusErrors.badRequest(`${cannotBeHandled(head, expected)}: ${error.message}`, error);
    }
  }

  /** Kind and version of the body against those of the URL; fills them in where a built-in kind may leave them out. */
  #checkKind(object: JsonObject, body: Buffer, expected: ExpectedKind): void {
    for (const field of ['apiVersion', 'kind']) {
      const value = object[field];
      if (value !== undefined && value !== null && typeof value !== 'string') {
        throw unrecognized(
          expected,
          `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go struct field .${field} of type string`,
          body,
        );
      }
    }
    const apiVersion = (object['apiVersion'] as string | null | undefined) ?? '';
    const kind = (object['kind'] as string | null | undefined) ?? '';
    const wanted = apiVersionOf(expected);
    if (expected.origin === 'custom') {
      if (kind === '') throw unrecognized(expected, `Object 'Kind' is missing in '${body.toString('utf8')}'`, body);
      if (apiVersion !== wanted) {
        throw statusErrors.badRequest(
          `the API version in the data (${apiVersion}) does not match the expected API version (${wanted})`,
        );
      }
      return;
    }
    const version = apiVersion === '' ? undefined : parseApiVersion(apiVersion);
    if (apiVersion !== '' && version === undefined)
      throw unrecognized(expected, `unexpected GroupVersion string: ${apiVersion}`, body);
    object['apiVersion'] = apiVersion === '' ? wanted : apiVersion;
    object['kind'] = kind === '' ? expected.kind : kind;
    if (object['apiVersion'] === wanted && object['kind'] === expected.kind) return;

    const group = version?.group ?? expected.group;
    const versionText = version?.version ?? expected.version;
    const actualKind = object['kind'];
    if (!this.#modules.isBuiltInKind(group, versionText, actualKind)) {
      throw statusErrors.badRequest(
        `${cannotBeHandled(object, expected)}: no kind ${JSON.stringify(actualKind)} is registered for version ${JSON.stringify(object['apiVersion'])} in scheme "multiplane"`,
      );
    }
    if (actualKind === expected.kind) {
      throw statusErrors.badRequest(
        `the API version in the data (${object['apiVersion']}) does not match the expected API version (${wanted})`,
      );
    }
    throw statusErrors.badRequest(
      `${cannotBeHandled(object, expected)}: converting (${versionText}.${actualKind}) to (${internalPackage(expected.group)}.${expected.kind}): unknown conversion`,
    );
  }
}

/** What reading a body threw, in the words of who sent it. */
function unreadable(error: unknown, { bytes, format }: RequestBody, expected: ExpectedKind): unknown {
  if (isStatusError(error)) return error;
  const what = format === 'yaml' && !(error instanceof JsonSyntaxError) ? 'yaml' : 'json';
  return unrecognized(expected, `couldn't get version/kind; ${what} parse error: ${(error as Error).message}`, bytes);
}

function checkIsObject(value: Json, body: Buffer, expected: ExpectedKind): void {
  if (value === null || isJsonObject(value)) return;
  throw unrecognized(
    expected,
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    body,
  );
}

/** What shaping a document threw, in the words of who sent it. */
function misfit(error: unknown, object: JsonObject, expected: ExpectedKind): unknown {
  if (!(error instanceof UnmarshalError)) return error;
  return statusErrors.badRequest(`${cannotBeHandled(object, expected)}: ${error.message}`, error);
}

const isWorthTelling = (validation: FieldValidation, parsed: ParsedBody, unknown: readonly string[]): boolean =>
  validation !== 'Ignore' && parsed.duplicates.length + parsed.repeatedKeys.length + unknown.length > 0;

/** Warns of what strict decoding found, or refuses it. */
function report(
  object: JsonObject,
  { repeatedKeys }: ParsedBody,
  found: readonly string[],
  { context, expected, validation }: Wanted,
): void {
  const errors = [...repeatedKeys, ...found];
  if (validation === 'Strict') {
    throw statusErrors.badRequest(`${cannotBeHandled(object, expected)}: strict decoding error: ${errors.join(', ')}`);
  }
  for (const text of errors) context.warn(text);
}

function decodeTypes(document: JsonObject, { origin, schema }: ExpectedKind): void {
  if (origin !== 'built-in') return;
  try {
    schema.decodeTyped(document);
  } catch (error) {
    throw typesMisfit(error);
  }
}

function* decodeTypesInSteps(document: JsonObject, { origin, schema }: ExpectedKind): Generator<void, void> {
  if (origin !== 'built-in') return;
  try {
    yield* schema.decodeInSteps(document);
  } catch (error) {
    throw typesMisfit(error);
  }
}

const typesMisfit = (error: unknown): unknown =>
  isStatusError(error) ? new UnmarshalError(reasonOf(error.message), { cause: error }) : error;

function shapeMetadata(document: JsonObject, resets: boolean): void {
  const metadata = decodeObjectMeta(document['metadata']);
  // A typed decoder does not tell an empty list from none; here it means something (K4.8).
  if (resets) metadata.managedFields = [];
  (document as unknown as KubeObject).metadata = metadata;
}

function resetsManagedFields(document: JsonObject): boolean {
  const { metadata } = document;
  if (metadata === undefined || !isJsonObject(metadata)) return false;
  const { managedFields } = metadata;
  return Array.isArray(managedFields) && managedFields.length === 0;
}

/** `ConfigMap in version "v1" cannot be handled as a ConfigMap`. */
function cannotBeHandled(object: JsonObject, expected: ExpectedKind): string {
  const kind = typeof object['kind'] === 'string' && object['kind'] !== '' ? object['kind'] : expected.kind;
  const version =
    (typeof object['apiVersion'] === 'string' ? parseApiVersion(object['apiVersion'])?.version : undefined) ??
    expected.version;
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}`;
}

/** A schema's own text says of which object it speaks; the place where it is used may know better. */
function reasonOf(message: string): string {
  const head = ' cannot be handled as a ';
  const at = message.indexOf(head);
  return at < 0 ? message : message.slice(message.indexOf(': ', at) + 2);
}

/** Bytes of a body that an error message shows: as text when it looks like JSON, else in hexadecimal. */
const summaryLength = 30;

function unrecognized(expected: ExpectedKind, why: string, body: Buffer): Error {
  const shown = body.toString(body[0] === 0x7b ? 'utf8' : 'hex', 0, summaryLength);
  const summary = body.length === 0 ? '<empty>' : body.length > summaryLength ? `${shown} ...` : shown;
  return statusErrors.badRequest(
    `the object provided is unrecognized (must be of type ${expected.kind}): ${why} (${summary})`,
  );
}

/** Package of a group's internal types as upstream names it: `core`, `rbac`, `apiextensions`. */
export function internalPackage(group: string): string {
  return group === '' ? 'core' : (group.split('.')[0] as string);
}
