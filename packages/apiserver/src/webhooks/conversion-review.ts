import {
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
  asJson,
  deepCopy,
  encodeJson,
  encodeJsonIncrementally,
  StatusError,
  fieldErrorText,
  isJsonObject,
  setOwn,
  statusErrors,
  validateObjectMeta,
} from '@multiplane/apimachinery';
import type { WebhookConversion } from '@multiplane/apis';
import { WebhookAuthorityError, WebhookCallError, type WebhookClient, webhookUrl } from '@multiplane/generic-server';
import { noteGrown } from '../registry/grown-objects.ts';
import { whileTimeLasts } from '../time-slices.ts';
import { jsonType } from '../write-path/decoding/object-meta-decoder.ts';
import { parseAnswer } from './parse-answer.ts';

/** Objects of one kind to convert to another version. */
export interface ConversionRequest {
  readonly conversion: WebhookConversion;
  /** The desired `group/version`. */
  readonly desired: string;
  /** The objects in their current version, without resourceVersion; at least one. */
  readonly objects: readonly KubeObject[];
  /** Whether they are items of a list; messages then contain the index. */
  readonly list: boolean;
  readonly signal: AbortSignal;
}

const timeoutSeconds = 30;
/** The timeout message of Go's HTTP client. */
const timeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
/** Limit of the response size: it grows with the request. */
const maxResponseBytesFor = (sent: number): number => 1024 * 1024 + 4 * sent;

export interface ConversionReviewerModules {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly newUid: () => string;
}

/**
 * Calls a conversion webhook with a ConversionReview in the first version that both support, and validates the
 * response: the webhook may change the content, labels and annotations, but no other metadata
 * (k8s.io/apiextensions-apiserver/pkg/apiserver/conversion). Failures are untyped 500 errors with the messages of
 * Kubernetes.
 */
export class ConversionReviewer {
  readonly #modules: ConversionReviewerModules;

  constructor(modules: ConversionReviewerModules) {
    this.#modules = modules;
  }

  /** Returns the objects in the desired version, in the same order. */
  async convert(request: ConversionRequest): Promise<KubeObject[]> {
    const { conversion, desired, objects } = request;
    const uid = this.#modules.newUid();
    const version = conversion.reviewVersions.find((known) => known === 'v1' || known === 'v1beta1');
    if (version === undefined) throw statusErrors.untyped('no supported conversion review versions');
    const caller = { cluster: conversion.tenant, signal: request.signal };
    const texts: string[] = [];
    for (const object of objects) texts.push(await whileTimeLasts(encodeJsonIncrementally(asJson(object)), caller));
    const body = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/${version}","request":{"uid":${JSON.stringify(uid)},"desiredAPIVersion":${JSON.stringify(desired)},"objects":[${texts.join(',')}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}`;
    const response = await this.#post(request, body);
    let converted: readonly Json[];
    try {
      converted = await whileTimeLasts(convertedObjects(response, version, uid), caller);
    } catch (error) {
      if (request.signal.aborted) throw error;
      throw failed(request, (error as Error).message, error);
    }
    if (converted.length !== objects.length) {
      throw statusErrors.untyped(`${prefix(request)} returned ${converted.length} objects, expected ${objects.length}`);
    }
    return converted.map((value, index) => {
      const object = validateConverted(request, value, index);
      noteGrown(object, response.length);
      return object;
    });
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
        maxResponseBytes: maxResponseBytesFor(body.length),
      });
    } catch (error) {
      // Kubernetes cannot serve a kind whose webhook has an invalid CA bundle.
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

/** The `response.convertedObjects` of a valid response; the message of the error is the reason why it is invalid. */
function* convertedObjects(body: Buffer, version: string, uid: string): Generator<void, readonly Json[]> {
  if (body.length === 0)
    throw new TypeError('0-length response with status code: 200 and content type: application/json');
  let review: Json;
  try {
    review = yield* parseAnswer(body);
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
  const { uid: responseUid = '', result, convertedObjects: objects } = response as JsonObject;
  // Kubernetes does not validate the uid of v1beta1 responses.
  if (version === 'v1' && responseUid !== uid)
    throw new TypeError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(responseUid)}`);
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

/** Validates one converted object and restores the metadata of the original. */
function validateConverted(request: ConversionRequest, value: Json, index: number): KubeObject {
  const { objects, desired, list } = request;
  const sent = objects[index] as KubeObject;
  const invalid = (what: string, why: string): Error =>
    statusErrors.untyped(`${prefix(request)} returned invalid ${what}: ${why}`);
  const place = list ? `converted object at index ${index}` : 'object at index 0';
  const item = list ? place : 'object';
  if (!isJsonObject(value) || typeof value['kind'] !== 'string' || value['kind'] === '')
    throw invalid(list ? place : 'object', `Object 'Kind' is missing in '${encodeJson(value)}'`);
  const { apiVersion } = value;
  if (apiVersion !== desired)
    throw invalid(
      place,
      `invalid groupVersion (expected ${desired}, received ${typeof apiVersion === 'string' ? apiVersion : ''})`,
    );
  if (value['kind'] !== sent.kind)
    throw invalid(place, `invalid kind (expected ${sent.kind}, received ${value['kind']})`);
  const metadata = value['metadata'];
  const given = isJsonObject(metadata ?? null) ? (metadata as JsonObject) : {};
  for (const [field, name] of sameFields) {
    const before = sent.metadata[field] ?? '';
    const after = typeof given[field] === 'string' ? given[field] : '';
    if (after !== before) throw invalid(item, `must have the same ${name}: ${before} != ${after}`);
  }
  try {
    value['metadata'] = restoreMetadata(sent, metadata) as JsonObject;
  } catch (error) {
    throw invalid(list ? `metadata in object at index ${index}` : 'metadata', (error as Error).message);
  }
  return value as unknown as KubeObject;
}

const sameFields = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

/**
 * Whether a label or annotation belongs to the control plane, such as the logical cluster of an object; webhooks cannot
 * change these.
 */
const isReservedKey = (key: string): boolean => /^([^/]*\.)?kcp\.io\//.test(key);

/** The original metadata with the labels and annotations of the converter. The error describes invalid ones. */
function restoreMetadata(sent: KubeObject, metadata: Json | undefined): KubeObject['metadata'] {
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
      if (!isReservedKey(key)) setOwn(texts, key, text);
    }
    for (const [key, text] of Object.entries(sent.metadata[field] ?? {}))
      if (isReservedKey(key)) setOwn(texts, key, text);
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

/** The name of a decoded value's type in Go. */
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
