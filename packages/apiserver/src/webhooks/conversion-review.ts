import {
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
  asJson,
  deepCopy,
  encodeJson,
  StatusError,
  fieldErrorText,
  isJsonObject,
  parseJson,
  setOwn,
  statusErrors,
  validateObjectMeta,
} from '@multiplane/apimachinery';
import type { WebhookConversion } from '@multiplane/apis';
import { jsonType } from '../endpoints/object-meta-decoder.ts';
import { type WebhookClient, WebhookAuthorityError, WebhookCallError } from './webhook-client.ts';
import { webhookUrl } from './webhook-url.ts';

/** Objects of one kind on their way to another version. */
export interface ConversionRequest {
  readonly conversion: WebhookConversion;
  /** `group/version` that all of them shall have. */
  readonly desired: string;
  /** Each in the version it has, without a resourceVersion. At least one. */
  readonly objects: readonly KubeObject[];
  /** They are items of a list: messages then say which one was wrong. */
  readonly list: boolean;
  readonly signal: AbortSignal;
}

const timeoutSeconds = 30;
/** What Go's client says where the webhook did not answer in time. */
const timeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
/** A webhook may make objects bigger; it may not make them endless. */
const answerBytes = (sent: number): number => 1024 * 1024 + 4 * sent;

export interface ConversionReviewerModules {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly newUid: () => string;
}

/**
 * Asks a conversion webhook (K5.11): one ConversionReview in the first version that both know, and nothing of the
 * answer is believed but what a converter may decide. Objects keep their kind, their name and all of their metadata
 * besides labels and annotations. Whatever goes wrong is an untyped 500 in Kubernetes' words.
 */
export class ConversionReviewer {
  readonly #modules: ConversionReviewerModules;

  constructor(_options: Record<string, never>, modules: ConversionReviewerModules) {
    this.#modules = modules;
  }

  /** The same objects, in the same order, in the desired version. */
  async convert(request: ConversionRequest): Promise<KubeObject[]> {
    const { conversion, desired, objects } = request;
    const uid = this.#modules.newUid();
    const version = conversion.reviewVersions.find((known) => known === 'v1' || known === 'v1beta1');
    if (version === undefined) throw statusErrors.untyped('no supported conversion review versions');
    const texts = objects.map((object) => encodeJson(asJson(object)));
    const body = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/${version}","request":{"uid":${JSON.stringify(uid)},"desiredAPIVersion":${JSON.stringify(desired)},"objects":[${texts.join(',')}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}`;
    const answer = await this.#post(request, body);
    let converted: readonly Json[];
    try {
      converted = convertedObjects(answer, version, uid);
    } catch (error) {
      throw failed(request, (error as Error).message, error);
    }
    if (converted.length !== objects.length) {
      throw statusErrors.untyped(`${prefix(request)} returned ${converted.length} objects, expected ${objects.length}`);
    }
    return converted.map((value, index) => checked(request, value, index));
  }

  async #post(request: ConversionRequest, body: string): Promise<Buffer> {
    try {
      return await this.#modules.client.post({
        tenant: request.conversion.tenant,
        url: webhookUrl(request.conversion.client, timeoutSeconds),
        caBundle: request.conversion.client.caBundle,
        body,
        timeoutMs: timeoutSeconds * 1000,
        timeoutText,
        signal: request.signal,
        maxResponseBytes: answerBytes(body.length),
      });
    } catch (error) {
      // Without its authorities upstream cannot serve the kind at all.
      if (error instanceof WebhookAuthorityError)
        throw statusErrors.internal(new Error('error resolving resource', { cause: error }));
      if (error instanceof WebhookCallError) throw failed(request, error.message, error);
      throw error;
    }
  }
}

/** `conversion webhook for <group>/<version>, Kind=<Kind>`. */
function prefix({ objects }: ConversionRequest): string {
  const [{ apiVersion, kind }] = objects as readonly [KubeObject];
  return `conversion webhook for ${apiVersion}, Kind=${kind}`;
}

const failed = (request: ConversionRequest, why: string, cause: unknown): Error =>
  new StatusError({ code: 500, reason: '', message: `${prefix(request)} failed: ${why}`, cause });

/** `response.convertedObjects` of a good answer; the message of the error is the reason why it is none. */
function convertedObjects(body: Buffer, version: string, uid: string): readonly Json[] {
  if (body.length === 0)
    throw new TypeError('0-length response with status code: 200 and content type: application/json');
  let review: Json;
  try {
    review = parseJson(body);
  } catch (cause) {
    throw new TypeError(`couldn't get version/kind; json parse error: ${(cause as Error).message}`, { cause });
  }
  if (!isJsonObject(review))
    throw new TypeError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(review).split(' ')[0]} into Go value of type struct`,
    );
  const { apiVersion = '', kind = '' } = review as { readonly apiVersion?: Json; readonly kind?: Json };
  const expected = `apiextensions.k8s.io/${version}`;
  if (version === 'v1' && (apiVersion !== expected || kind !== 'ConversionReview')) {
    throw new TypeError(
      `expected webhook response of ${expected}, Kind=ConversionReview, got ${apiVersion === '' ? '/' : textOf(apiVersion)}, Kind=${textOf(kind)}`,
    );
  }
  const { response } = review;
  if (!isJsonObject(response ?? null)) throw new TypeError('no response provided');
  const { uid: answered = '', result, convertedObjects: objects } = response as JsonObject;
  // The older protocol never had its uid looked at.
  if (version === 'v1' && answered !== uid)
    throw new TypeError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`);
  const { status = '', message = '' } = (isJsonObject(result ?? null) ? result : {}) as {
    readonly status?: Json;
    readonly message?: Json;
  };
  if (status !== 'Success') {
    throw new TypeError(
      message === '' ? `response.result.status was '${textOf(status)}', not 'Success'` : textOf(message),
    );
  }
  return Array.isArray(objects) ? objects : [];
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : encodeJson(value));

/** One object of the answer with the metadata of the one that was sent. */
function checked(request: ConversionRequest, value: Json, index: number): KubeObject {
  const { objects, desired, list } = request;
  const sent = objects[index] as KubeObject;
  const wrong = (what: string, why: string): Error =>
    statusErrors.untyped(`${prefix(request)} returned invalid ${what}: ${why}`);
  const place = list ? `converted object at index ${index}` : 'object at index 0';
  const item = list ? place : 'object';
  if (!isJsonObject(value) || typeof value['kind'] !== 'string' || value['kind'] === '')
    throw wrong(list ? place : 'object', `Object 'Kind' is missing in '${encodeJson(value)}'`);
  const { apiVersion } = value;
  if (apiVersion !== desired)
    throw wrong(
      place,
      `invalid groupVersion (expected ${desired}, received ${typeof apiVersion === 'string' ? apiVersion : ''})`,
    );
  if (value['kind'] !== sent.kind)
    throw wrong(place, `invalid kind (expected ${sent.kind}, received ${value['kind']})`);
  const metadata = value['metadata'];
  const given = isJsonObject(metadata ?? null) ? (metadata as JsonObject) : {};
  for (const [field, name] of sameFields) {
    const before = sent.metadata[field] ?? '';
    const after = typeof given[field] === 'string' ? given[field] : '';
    if (after !== before) throw wrong(item, `must have the same ${name}: ${before} != ${after}`);
  }
  try {
    value['metadata'] = restoredMetadata(sent, metadata) as JsonObject;
  } catch (error) {
    throw wrong(list ? `metadata in object at index ${index}` : 'metadata', (error as Error).message);
  }
  return value as unknown as KubeObject;
}

const sameFields = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

/**
 * Labels and annotations by which the control plane itself knows objects: whose they are, above all. A tenant's webhook
 * has no say in them.
 */
const isOwnKey = (key: string): boolean => /^([^/]*\.)?kcp\.io\//.test(key);

/** Metadata as it was, with the labels and annotations that the converter chose. The error says what is wrong with them. */
function restoredMetadata(sent: KubeObject, metadata: Json | undefined): KubeObject['metadata'] {
  if (metadata === undefined) throw new TypeError('missing metadata in converted object');
  if (!isJsonObject(metadata)) throw new TypeError(`invalid metadata of type ${goType(metadata)} in converted object`);
  const restored = deepCopy(sent.metadata as JsonObject) as KubeObject['metadata'];
  for (const field of ['labels', 'annotations'] as const) {
    const given = metadata[field] ?? null;
    if (given !== null && !isJsonObject(given))
      throw new TypeError(`invalid metadata.${field} of type ${goType(given)} in converted object`);
    const texts: Record<string, string> = {};
    for (const [key, text] of Object.entries(given ?? {})) {
      if (typeof text !== 'string')
        throw new TypeError(`metadata.${field}[${key}] must be a string, but is ${goType(text)} in converted object`);
      if (!isOwnKey(key)) setOwn(texts, key, text);
    }
    for (const [key, text] of Object.entries(sent.metadata[field] ?? {})) if (isOwnKey(key)) setOwn(texts, key, text);
    if (given === null && Object.keys(texts).length === 0) delete restored[field];
    else restored[field] = texts;
  }
  const errors: FieldError[] = validateObjectMeta(
    {
      name: 'x',
      ...(restored.labels === undefined ? {} : { labels: restored.labels }),
      ...(restored.annotations === undefined ? {} : { annotations: restored.annotations }),
    },
    { namespaced: false, validateName: () => [] },
  );
  if (errors.length > 0) {
    const texts = errors.map((error) => fieldErrorText(error));
    throw new TypeError(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  return restored;
}

/** How Go names the type of a decoded value. */
function goType(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'object':
      return 'map[string]interface {}';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return 'int64';
    case 'boolean':
      return 'bool';
    default:
      return 'string';
  }
}
