import {
  type GroupVersion,
  type Json,
  type JsonObject,
  type JsonTextDetails,
  type KubeObject,
  ProtobufError,
  type ProtobufEnvelope,
  apiVersionOf,
  deepCopy,
  encodeJson,
  isJsonObject,
  parseApiVersion,
  bodyLimits,
  parseJsonIncrementally,
  readProtobufEnvelope,
  setOwn,
  statusErrors,
} from '@multiplane/apimachinery';
import { decodeProtobufIncrementally } from '@multiplane/apis';
import type { RequestContext } from '@multiplane/generic-server';
import { yieldAfterBody } from '../../time-slices.ts';
import { cannotBeHandled, checkIsObject, parseFailure, shapeFailure, unrecognized } from './decoding-errors.ts';
import { type ExpectedKind, internalPackage } from './expected-kind.ts';
import { readKind } from './read-kind.ts';
import { type RequestBody, bodyFormat, maxBodyBytes } from './request-body.ts';
import { type ShapeReport, checkCustomMeta, shapeDocument } from './shape-document.ts';
import { type FieldValidation, strictErrors } from './strict-decoding.ts';
import type { YamlDocument, YamlReader } from './yaml-reader.ts';

interface ParsedBody {
  readonly value: Json;
  /** Paths of members that occur more than once. */
  readonly duplicates: readonly string[];
  /** The same for YAML, as complete messages that name the line. */
  readonly repeatedKeys: readonly string[];
  /** For the typed decoder of a built-in kind; undefined if the value tells everything. */
  readonly details?: JsonTextDetails | undefined;
}

/** What a body is decoded for. */
interface DecodeTarget {
  readonly context: Pick<RequestContext, 'warn'>;
  readonly expected: ExpectedKind;
  readonly validation: FieldValidation;
}

export interface BodyDecoderModules {
  /** Whether a kind is compiled in: Kubernetes distinguishes a wrong kind from an unknown one. */
  readonly isBuiltInKind: (group: string, version: string, kind: string) => boolean;
  readonly yaml: YamlReader;
}

/** Decodes request bodies into objects of a kind. */
export class BodyDecoder {
  readonly #modules: BodyDecoderModules;

  constructor(modules: BodyDecoderModules) {
    this.#modules = modules;
  }

  /** The object in a request's body; unknown and duplicate fields are warnings for `Warn`, 400 for `Strict`. */
  async decode(context: RequestContext, expected: ExpectedKind, validation: FieldValidation): Promise<KubeObject> {
    return this.decodeBody(await this.readBody(context), context, expected, validation);
  }

  /** Reads the body of a request, which can be done once, or takes its bytes that were read before; throws 413 and 415. */
  async readBody(context: RequestContext, read?: Buffer): Promise<RequestBody> {
    const format = bodyFormat(context);
    const bytes = read ?? (await context.exchange.readBody(maxBodyBytes));
    const yielded = yieldAfterBody(bytes.length, context);
    if (yielded !== undefined) await yielded;
    return format === 'yaml' ? { bytes, format, yaml: await this.readYaml(bytes, context) } : { bytes, format };
  }

  readYaml(bytes: Buffer, context: Pick<RequestContext, 'info' | 'signal'>): Promise<YamlDocument> {
    return this.#modules.yaml.read(bytes, { cluster: context.info.cluster ?? '', request: context });
  }

  /** Each call returns a new object. */
  async decodeBody(
    body: RequestBody,
    context: Pick<RequestContext, 'warn' | 'work'>,
    expected: ExpectedKind,
    validation: FieldValidation,
  ): Promise<KubeObject> {
    // Unknown protobuf fields have no names, so strict decoding does not apply.
    if (body.format === 'protobuf') validation = 'Ignore';
    const { work } = context;
    work.grow(body.bytes.length);
    const target = { context, expected, validation };
    const parsed = await work.run(this.#parse(body, expected, validation));
    await work.pause();
    const failure = await work.run(repeatedKindFailure(body, parsed));
    const object = this.#objectIn(parsed, body, target, failure);
    await work.pause();
    let shaped: ShapeReport;
    try {
      shaped = await shapeDocument(object, expected, work, { details: parsed.details });
    } catch (error) {
      throw shapeFailure(error, object, expected);
    }
    const { unknownFields, duplicates = parsed.duplicates } = shaped;
    if (hasStrictErrors(validation, parsed, duplicates.length + unknownFields.length)) {
      // Typed decoders report in document order. Pruning has removed the unknown fields, so the document is parsed again.
      const typed = expected.origin === 'built-in';
      const document = typed ? (await work.run(this.#parse(body, expected, 'Ignore'))).value : undefined;
      await work.pause();
      report(object, parsed, strictErrors(duplicates, unknownFields, document), target);
    }
    return object as unknown as KubeObject;
  }

  #objectIn(parsed: ParsedBody, body: RequestBody, target: DecodeTarget, failure: string | undefined): JsonObject {
    const { value, details, duplicates } = parsed;
    const { expected, validation } = target;
    const object: JsonObject = value === null ? {} : (value as JsonObject);
    if (failure !== undefined) throw unrecognized(expected, failure, body.bytes);
    this.#checkKind(object, body.bytes, target, details, () => {
      try {
        checkCustomMeta(object);
      } catch (error) {
        throw shapeFailure(error, object, expected);
      }
      // Of an object of another version only the metadata has a known form.
      const unknown = validation === 'Ignore' ? [] : unknownMetaFields(object, expected);
      if (!hasStrictErrors(validation, parsed, duplicates.length + unknown.length)) return;
      if (validation === 'Strict' && (object['apiVersion'] ?? '') === '')
        throw statusErrors.badRequest("Object 'apiVersion' is missing in 'object has no apiVersion field'");
      report(object, parsed, strictErrors(duplicates, unknown, undefined), target);
    });
    return object;
  }

  /** Reads the text chunk by chunk. */
  *#parse(body: RequestBody, expected: ExpectedKind, validation: FieldValidation): Generator<void, ParsedBody> {
    const { bytes, format } = body;
    if (format === 'protobuf')
      return { value: yield* this.#parseProtobuf(bytes, expected), duplicates: [], repeatedKeys: [] };
    let parsed: ParsedBody;
    try {
      if (body.yaml !== undefined) {
        const { value, duplicates } = yield* body.yaml();
        yield;
        parsed = { value: inKeyOrder(value), duplicates: [], repeatedKeys: duplicates };
      } else {
        const details = detailsFor(expected);
        const strict = validation !== 'Ignore' || details !== undefined;
        const found = yield* parseJsonIncrementally(bytes, strict, { details, limits: bodyLimits });
        parsed = { ...found, repeatedKeys: [], details: unlessEmpty(details) };
      }
    } catch (error) {
      throw yield* parseFailure(error, body, expected);
    }
    checkIsObject(parsed.value, bytes, expected);
    return parsed;
  }

  /** The object in a protobuf envelope. Custom resources have messages only if they restore a kind of Kubernetes. */
  *#parseProtobuf(body: Buffer, expected: ExpectedKind): Generator<void, JsonObject> {
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
    this.#checkKind(head, body, { expected, validation: 'Ignore' });
    const [apiVersion, kind] = [head['apiVersion'] as string, head['kind'] as string];
    try {
      return yield* decodeProtobufIncrementally(apiVersion, kind, envelope.message);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      throw statusErrors.badRequest(`${cannotBeHandled(head, expected)}: ${error.message}`, error);
    }
  }

  /**
   * Checks kind and version against those of the URL, and sets them where a built-in kind may omit them. `beforeMismatch` is
   * called before another version of a custom resource is refused, which Kubernetes does once the body is decoded.
   */
  #checkKind(
    object: JsonObject,
    body: Buffer,
    { expected, validation }: Pick<DecodeTarget, 'expected' | 'validation'>,
    details?: JsonTextDetails,
    beforeMismatch?: () => void,
  ): void {
    const head = readKind(object, details);
    if (head.failure !== undefined) throw unrecognized(expected, head.failure, body);
    // Typed objects have the kind that was found in any case of letters, others what they hold.
    const typed = expected.origin === 'built-in';
    const apiVersion = typed ? head.apiVersion : ((object['apiVersion'] as string | null | undefined) ?? '');
    const kind = typed ? head.kind : ((object['kind'] as string | null | undefined) ?? '');
    const wanted = apiVersionOf(expected);
    const version = apiVersion === '' ? undefined : parseApiVersion(apiVersion);
    if (apiVersion !== '' && version === undefined)
      throw unrecognized(expected, `unexpected GroupVersion string: ${apiVersion}`, body);
    if (expected.origin === 'custom') {
      if (kind === '') throw missingKind(object, body, expected, validation);
      if (object['apiVersion'] === null) throw nullVersion(kind, expected);
      if (apiVersion === wanted) return;
      beforeMismatch?.();
      throw versionMismatch(version === undefined ? '' : apiVersionOf(version), wanted);
    }
    object['apiVersion'] = defaultedVersion(apiVersion, version, expected);
    object['kind'] = kind === '' ? expected.kind : kind;
    if (object['apiVersion'] === wanted && object['kind'] === expected.kind) return;

    const failure = this.#kindFailure(object['apiVersion'], object['kind'], expected, () => body.toString('utf8'));
    if (failure === undefined) throw versionMismatch(object['apiVersion'], wanted);
    throw statusErrors.badRequest(`${cannotBeHandled(object, expected)}: ${failure}`);
  }

  /** Why an object is not of a built-in kind; undefined for another version of it. */
  #kindFailure(apiVersion: string, kind: string, expected: ExpectedKind, quoted: () => string): string | undefined {
    const { group, version } = parseApiVersion(apiVersion) ?? expected;
    if (version === '') return `Object 'apiVersion' is missing in '${quoted()}'`;
    if (!this.#modules.isBuiltInKind(group, version, kind))
      return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "multiplane"`;
    if (kind === expected.kind) return undefined;
    return `converting (${version}.${kind}) to (${internalPackage(expected.group)}.${expected.kind}): unknown conversion`;
  }

  /**
   * Checks the kind of the result of a JSON or merge patch, and sets an absent one of a built-in kind. Returns why it is
   * not of the expected kind, undefined if it is. Strategies check the kinds of custom resources.
   */
  checkPatchedKind(object: JsonObject, expected: ExpectedKind): string | undefined {
    const { failure: mismatch } = readKind(object);
    if (mismatch !== undefined) return mismatch;
    const apiVersion = hasVersion(object) ? (object['apiVersion'] as string) : '';
    const kind = (object['kind'] as string | null | undefined) ?? '';
    if (apiVersion !== '' && parseApiVersion(apiVersion) === undefined)
      return `unexpected GroupVersion string: ${apiVersion}`;
    if (expected.origin === 'custom')
      return kind === '' ? `Object 'Kind' is missing in '${encodeJson(object)}'` : undefined;
    const wanted = apiVersionOf(expected);
    if (apiVersion === '' && (kind === '' || kind === expected.kind)) return undefined;
    const found = defaultedVersion(apiVersion, parseApiVersion(apiVersion), expected);
    const failure =
      found === wanted && (kind === '' || kind === expected.kind)
        ? undefined
        : this.#kindFailure(found, kind === '' ? expected.kind : kind, expected, () => encodeJson(object));
    if (failure !== undefined) return failure;
    object['apiVersion'] = wanted;
    object['kind'] = expected.kind;
    return undefined;
  }
}

/**
 * A custom resource without a kind. Only the strict decoder, which also collects warnings, forgets the expected kind before it
 * looks for one; the other decoder quotes the object as JSON without the space around it.
 */
function missingKind(object: JsonObject, body: Buffer, expected: ExpectedKind, validation: FieldValidation): Error {
  const text = body.toString('utf8');
  if (validation !== 'Ignore') return unrecognized(expected, `Object 'Kind' is missing in '${text}'`, body);
  const trimmed = text.trim();
  const quoted = /^(\{|null$)/.test(trimmed) ? trimmed : encodeJson(object);
  const version = object['apiVersion'] === null ? undefined : object['apiVersion'];
  return statusErrors.badRequest(
    `${cannotBeHandled(version === undefined ? {} : { apiVersion: version }, expected)}: Object 'Kind' is missing in '${quoted}'`,
  );
}

/** The schema of a custom resource is applied before versions are compared. */
const nullVersion = (kind: string, expected: ExpectedKind): Error =>
  statusErrors.badRequest(
    `${kind} in version "" cannot be handled as a ${expected.kind}: .apiVersion accessor error: <nil> is of the type <nil>, expected string`,
  );

/** The version of a body with what the URL says in place of parts that are missing; `/v1` is the same as `v1`. */
function defaultedVersion(text: string, parsed: GroupVersion | undefined, expected: ExpectedKind): string {
  if (parsed === undefined) return text === '' ? apiVersionOf(expected) : text;
  const { group, version } = parsed;
  if (version === '' && (group === '' || group === expected.group)) return apiVersionOf(expected);
  return group === '' ? version : text;
}

/** Whether an object names a version, after its type has been checked; `/` is none. */
export const hasVersion = ({ apiVersion }: JsonObject): boolean =>
  typeof apiVersion === 'string' && apiVersion !== '' && apiVersion !== '/';

const versionMismatch = (actual: string, wanted: string): Error =>
  statusErrors.badRequest(
    `the API version in the data (${actual}) does not match the expected API version (${wanted})`,
  );

const hasStrictErrors = (validation: FieldValidation, { repeatedKeys }: ParsedBody, others: number): boolean =>
  validation !== 'Ignore' && repeatedKeys.length + others > 0;

/** YAML is converted to JSON, whose members are in the order of their names: errors come in this order. */
function inKeyOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isJsonObject(value)) return value;
  const sorted: JsonObject = {};
  for (const key of Object.keys(value).sort()) setOwn(sorted, key, inKeyOrder(value[key] as Json));
  return sorted;
}

const detailsFor = ({ origin }: ExpectedKind): JsonTextDetails | undefined =>
  origin === 'built-in' ? { literals: new Map(), repeats: new Map() } : undefined;

/** Kind and version are read from every member of the name: one of another type is a failure, whatever the last one is. */
function* repeatedKindFailure(
  { bytes, format }: RequestBody,
  { duplicates, details: known }: ParsedBody,
): Generator<void, string | undefined> {
  const isRepeated = duplicates.some((path) => path === 'apiVersion' || path === 'kind');
  if (known !== undefined || format !== 'json' || !isRepeated) return undefined;
  const details: JsonTextDetails = { literals: new Map(), repeats: new Map() };
  const { value } = yield* parseJsonIncrementally(bytes, true, { details });
  return isJsonObject(value) ? readKind(value, details).failure : undefined;
}

const unknownMetaFields = ({ metadata }: JsonObject, { schema }: ExpectedKind): readonly string[] =>
  isJsonObject(metadata) ? schema.prune({ metadata: deepCopy(metadata) }).unknownFields : [];

/** Nearly all texts have no such parts, and decoding is faster without looking for them. */
const unlessEmpty = (details: JsonTextDetails | undefined): JsonTextDetails | undefined =>
  details === undefined || details.literals.size + details.repeats.size === 0 ? undefined : details;

/** Reports the errors of strict decoding: as warnings for `Warn`, by throwing 400 for `Strict`. */
function report(
  object: JsonObject,
  { repeatedKeys }: ParsedBody,
  found: readonly string[],
  { context, expected, validation }: DecodeTarget,
): void {
  if (validation === 'Strict') {
    const repeated = repeatedKeys.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${repeatedKeys.join('\n  ')}`];
    const errors = [...repeated, ...found];
    throw statusErrors.badRequest(`${cannotBeHandled(object, expected)}: strict decoding error: ${errors.join(', ')}`);
  }
  for (const text of [...repeatedKeys, ...found]) context.warn(text);
}
