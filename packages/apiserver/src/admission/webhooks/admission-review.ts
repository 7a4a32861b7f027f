import {
  type Json,
  type JsonObject,
  StatusError,
  encodeJsonIncrementally,
  getOwn,
  isJsonObject,
  statusErrors,
  validateQualifiedName,
} from '@multiplane/apimachinery';
import { WebhookAuthorityError, WebhookCallError, type WebhookClient, webhookUrl } from '@multiplane/generic-server';
import { whileTimeLasts } from '../../time-slices.ts';
import { parseAnswer } from '../../webhooks/parse-answer.ts';
import { jsonType } from '../../write-path/decoding/object-meta-decoder.ts';
import { fieldOf, objectOf, textOf } from '../matching/read-fields.ts';
import type { WebhookAccessor } from './webhook-accessor.ts';

/** A webhook could not be called or returned no valid response; its failure policy applies. */
export class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure';
  constructor(hook: Pick<WebhookAccessor, 'name'>, why: string, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(hook.name)}: ${why}`, options);
  }
}

/** The response of a webhook. */
export interface ReviewResponse {
  readonly allowed: boolean;
  readonly status: JsonObject | undefined;
  /** JSON patch operations; empty: no change. */
  readonly patch: readonly Json[];
  /** Length of the patch. */
  readonly patchBytes: number;
  readonly auditAnnotations: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

export interface AdmissionReviewerModules {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly newUid: () => string;
}

interface ReviewCall {
  readonly hook: WebhookAccessor;
  /** The logical cluster that owns the webhook. */
  readonly tenant: string;
  readonly mutating: boolean;
  /** The AdmissionRequest without its uid. */
  readonly request: JsonObject;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Limits of audit annotations in one response: their number, and their length in characters. */
const maxAnnotations = 20;
const maxAnnotation = 10 * 1024;
/** Limit of the response size: patches grow with the request. */
const maxResponseBytesFor = (sent: number): number => 1024 * 1024 + 4 * sent;

/**
 * Calls admission webhooks with an AdmissionReview in the first version that both support. Any failure is thrown as a
 * {@link WebhookFailure} with the message of Kubernetes.
 */
export class AdmissionReviewer {
  readonly #modules: AdmissionReviewerModules;

  constructor(modules: AdmissionReviewerModules) {
    this.#modules = modules;
  }

  async review({ hook, tenant, mutating, request, timeoutMs, signal }: ReviewCall): Promise<ReviewResponse> {
    const uid = this.#modules.newUid();
    const version = hook.reviewVersions.find((known) => known === 'v1' || known === 'v1beta1');
    if (version === undefined)
      throw new WebhookFailure(hook, 'webhook does not accept known AdmissionReview versions (v1, v1beta1)');
    const apiVersion = `admission.k8s.io/${version}`;
    const caller = { cluster: tenant, signal };
    const body = await whileTimeLasts(
      encodeJsonIncrementally({ kind: 'AdmissionReview', apiVersion, request: { uid, ...request } }),
      caller,
    );
    let responseBody: Buffer;
    try {
      responseBody = await this.#modules.client.post({
        tenant,
        url: webhookUrl(hook.client, hook.timeoutSeconds),
        caBundle: hook.client.caBundle,
        body,
        timeoutMs,
        timeoutText: 'context deadline exceeded',
        signal,
        maxResponseBytes: maxResponseBytesFor(body.length),
      });
    } catch (error) {
      if (error instanceof WebhookAuthorityError)
        throw new WebhookFailure(hook, `could not get REST client: ${error.message}`, { cause: error });
      if (error instanceof WebhookCallError)
        throw new WebhookFailure(hook, `failed to call webhook: ${error.message}`, { cause: error });
      throw error;
    }
    const review = await whileTimeLasts(reviewOf(hook, responseBody), caller);
    try {
      return await whileTimeLasts(responseOf(review, { apiVersion, uid, mutating }), caller);
    } catch (error) {
      if (!(error instanceof InvalidResponse)) throw error;
      throw new WebhookFailure(hook, error.message, { cause: error });
    }
  }
}

class InvalidResponse extends Error {}

const invalid = (why: string): InvalidResponse => new InvalidResponse(`received invalid webhook response: ${why}`);

function* reviewOf(hook: WebhookAccessor, body: Buffer): Generator<void, JsonObject> {
  const fail = (why: string, cause?: unknown): WebhookFailure =>
    new WebhookFailure(hook, `failed to call webhook: ${why}`, { cause });
  if (body.length === 0) throw fail('0-length response with status code: 200 and content type: application/json');
  let value: Json;
  try {
    value = yield* parseAnswer(body);
  } catch (error) {
    throw fail(`couldn't get version/kind; json parse error: ${(error as Error).message}`, error);
  }
  if (isJsonObject(value)) return value;
  throw fail(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type struct`,
  );
}

/**
 * Validates a response, as VerifyAdmissionResponse in k8s.io/apiserver/pkg/admission/plugin/webhook/request; throws
 * {@link InvalidResponse}.
 */
function* responseOf(
  review: JsonObject,
  expected: { readonly apiVersion: string; readonly uid: string; readonly mutating: boolean },
): Generator<void, ReviewResponse> {
  const isV1 = expected.apiVersion === 'admission.k8s.io/v1';
  const apiVersion = textOf(review, 'apiVersion');
  const kind = textOf(review, 'kind');
  const response = objectOf(review, 'response');
  if (response === undefined) throw invalid('webhook response was absent');
  // Kubernetes does not validate the type and uid of v1beta1 responses.
  if (isV1) {
    if (apiVersion !== expected.apiVersion || kind !== 'AdmissionReview') {
      throw invalid(
        `expected webhook response of ${expected.apiVersion}, Kind=AdmissionReview, got ${apiVersion === '' ? '/' : apiVersion}, Kind=${kind}`,
      );
    }
    const uid = textOf(response, 'uid');
    if (uid !== expected.uid)
      throw invalid(`expected response.uid=${JSON.stringify(expected.uid)}, got ${JSON.stringify(uid)}`);
  }
  const patch = fieldOf(response, 'patch') ?? null;
  const patched = patch !== null && patch !== '';
  const patchType = fieldOf(response, 'patchType') ?? null;
  if (!expected.mutating && isV1) {
    if (patched) throw invalid('validating webhook may not return response.patch');
    if (patchType !== null) throw invalid('validating webhook may not return response.patchType');
  }
  if (isV1 && expected.mutating) {
    if (patched && patchType === null) throw invalid('webhook returned response.patch but not response.patchType');
    if (patchType !== null && patchType !== 'JSONPatch')
      throw invalid(`webhook returned invalid response.patchType of ${JSON.stringify(patchType)}`);
    if (!patched && patchType !== null) throw invalid('webhook returned response.patchType but not response.patch');
  }
  return {
    allowed: getOwn(response, 'allowed') === true,
    status: objectOf(response, 'status'),
    patchBytes: typeof patch === 'string' ? patch.length : 0,
    patch: patched && expected.mutating ? yield* operationsOf(patch) : [],
    auditAnnotations: annotationsOf(response),
    warnings: (Array.isArray(response['warnings']) ? response['warnings'] : []).filter(
      (text): text is string => typeof text === 'string',
    ),
  };
}

/** Audit annotations within the limits, so that a tenant's webhook cannot flood the audit log. */
function annotationsOf(response: JsonObject): ReadonlyMap<string, string> {
  const annotations = new Map<string, string>();
  for (const [key, value] of Object.entries(objectOf(response, 'auditAnnotations') ?? {})) {
    if (annotations.size >= maxAnnotations) break;
    if (typeof value === 'string' && validateQualifiedName(key).length === 0 && !key.includes('/'))
      annotations.set(key, value.slice(0, maxAnnotation));
  }
  return annotations;
}

function* operationsOf(patch: Json): Generator<void, readonly Json[]> {
  const fail = (why: string, cause?: unknown): InvalidResponse =>
    new InvalidResponse(`received undecodable patch in webhook response: ${why}`, { cause });
  if (typeof patch !== 'string') throw fail('it is not a string');
  let operations: Json;
  try {
    operations = yield* parseAnswer(Buffer.from(patch, 'base64'));
  } catch (error) {
    throw fail((error as Error).message, error);
  }
  if (operations === null) return [];
  if (!Array.isArray(operations))
    throw fail(`json: cannot unmarshal ${jsonType(operations).split(' ')[0]} into Go value of type jsonpatch.Patch`);
  return operations;
}

/**
 * The error of a denied request (ToStatusErr in k8s.io/apiserver): the webhook's status, with an error code in any
 * case.
 */
export function rejection(hook: Pick<WebhookAccessor, 'name'>, status: JsonObject | undefined): StatusError {
  const by = `admission webhook ${JSON.stringify(hook.name)} denied the request`;
  const text = textOf(status, 'message');
  const reason = textOf(status, 'reason');
  const code = fieldOf(status, 'code');
  const why = text === '' ? reason : text;
  const details = objectOf(status, 'details');
  return new StatusError({
    code: typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : 400,
    reason: reason as StatusError['reason'],
    message: why === '' ? `${by} without explanation` : `${by}: ${why}`,
    ...(details === undefined ? {} : { details }),
  });
}

/** The error of a failed webhook with failure policy Fail. */
export const failureStatus = (failure: WebhookFailure): StatusError => statusErrors.internal(failure);
