import {
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  type WriteOptions,
  apiVersionOf,
  asJson,
  getOwn,
  isJsonObject,
  isStatusError,
  setOwn,
  statusErrors,
} from '@multiplane/apimachinery';
import { conversionFailure } from '../../registry/managed-fields/check-configuration.ts';
import type { FieldManagerRequest } from '../../registry/managed-fields/field-manager-request.ts';
import type { FieldManager } from '../../registry/managed-fields/field-manager.ts';
import type { RequestContext } from '@multiplane/generic-server';
import { yieldAfterBody } from '../../time-slices.ts';
import type { BodyDecoder } from './body-decoder.ts';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError, jsonType } from './object-meta-decoder.ts';
import { maxBodyBytes } from './request-body.ts';
import { shapeDocument } from './shape-document.ts';
import type { FieldValidation } from './strict-decoding.ts';

/** The configuration of a server-side apply, parsed once. */
export interface ApplyDocument {
  readonly config: DeepReadonly<JsonObject>;
  /** Messages about duplicate keys. */
  readonly duplicates: readonly string[];
}

/** Reads the body of a server-side apply, YAML or JSON. Throws 400 and 413. */
export async function readApplyDocument(
  decoder: BodyDecoder,
  context: Pick<RequestContext, 'exchange' | 'info' | 'signal' | 'work'>,
): Promise<ApplyDocument> {
  const body = await context.exchange.readBody(maxBodyBytes);
  await yieldAfterBody(body.length, context);
  const { work } = context;
  work.grow(body.length);
  const document = await decoder.readYaml(body, context);
  let result: ApplyDocument;
  try {
    const { value, duplicates } = await work.run(document());
    if (value !== null && !isJsonObject(value)) {
      throw new TypeError(
        `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type map[string]interface {}`,
      );
    }
    await work.pause();
    result = { config: withFloats(value ?? {}), duplicates };
  } catch (error) {
    if (context.signal.aborted) throw error;
    const prefix = error instanceof TypeError ? '' : 'error converting YAML to JSON: ';
    throw statusErrors.badRequest(`error decoding YAML: ${prefix}${(error as Error).message}`, error);
  }
  return result;
}

/** Integers beyond int64 are floats in an untyped object. In place. */
function withFloats(config: JsonObject): JsonObject {
  const pending: (JsonObject | Json[])[] = [config];
  const asFloat = (value: Json): Json => {
    if (typeof value === 'object' && value !== null) pending.push(value);
    return typeof value === 'bigint' && value > maxInt64 ? Number(value) : value;
  };
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Array.isArray(next)) {
      for (const [index, item] of next.entries()) next[index] = asFloat(item);
      continue;
    }
    for (const key of Object.keys(next)) {
      const member = next[key] as Json;
      const converted = asFloat(member);
      if (converted !== member) setOwn(next, key, converted);
    }
  }
  return config;
}
const maxInt64 = 2n ** 63n - 1n;

/**
 * Applies a configuration to the current object: the merged object in the form of its kind, with its managedFields. As in
 * Kubernetes, duplicate keys are reported only if the apply has no other error.
 */
export async function applyDocument(
  fields: FieldManager,
  write: FieldManagerRequest & { readonly name: string; warn(text: string): void },
  expected: ExpectedKind,
  document: ApplyDocument,
  current: DeepReadonly<KubeObject> | undefined,
  options: Pick<WriteOptions, 'force'> & { readonly fieldValidation: FieldValidation },
): Promise<KubeObject> {
  const { config } = document;
  const { work } = write;
  const { object, managedFields } = await fields.apply(write, current, config, options);
  await work.pause();
  try {
    await shapeDocument(asJson(object), expected, work, { keepNulls: true, isConverted: true });
  } catch (error) {
    if (!(error instanceof UnmarshalError || isStatusError(error, 'BadRequest'))) throw error;
    throw conversionFailure(config, expected, error.message);
  }
  // Written `/v1`, it is `v1`.
  object.apiVersion = apiVersionOf(expected);
  reportDuplicates(document, write, options.fieldValidation);
  if (current === undefined) checkNoUid(write, object, write.name);
  if (managedFields.length > 0) object.metadata.managedFields = managedFields;
  return object;
}

function reportDuplicates(
  { duplicates }: ApplyDocument,
  write: { warn(text: string): void },
  validation: FieldValidation,
): void {
  if (duplicates.length === 0 || validation === 'Ignore') return;
  if (validation === 'Strict') {
    throw statusErrors.badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n${duplicates.map((text) => `  ${text}`).join('\n')}`,
    );
  }
  for (const text of duplicates) write.warn(text);
}

/** Throws 409 for an apply with a uid to an object that does not exist. */
function checkNoUid({ definition }: FieldManagerRequest, { metadata }: KubeObject, name: string): void {
  const uid = getOwn(metadata as JsonObject, 'uid');
  if (typeof uid !== 'string' || uid === '') return;
  throw statusErrors.conflict(
    { group: definition.group, resource: definition.resource },
    name,
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  );
}
