import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type WriteOptions,
  asJson,
  getOwn,
  isJsonObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { FieldWrite } from '../registry/field-write.ts';
import { bodyTurn, giveWay, inSteps } from '../registry/give-way.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { RequestContext } from '../request-context.ts';
import { type BodyDecoder, type ExpectedKind, maxBodyBytes } from './body-decoder.ts';
import { UnmarshalError, jsonType } from './object-meta-decoder.ts';
import type { FieldValidation } from './strict-decoding.ts';

/** A configuration to apply, read once. */
export interface ApplyDocument {
  readonly config: DeepReadonly<JsonObject>;
  /** Texts about keys that stand twice. */
  readonly duplicates: readonly string[];
  /** About how big what is applied is, or what it is applied to. */
  readonly bytes: number;
}

/** Reads the body of an apply, YAML or JSON. Throws 400 and 413. */
export async function readApplyDocument(
  decoder: BodyDecoder,
  { exchange }: Pick<RequestContext, 'exchange'>,
): Promise<ApplyDocument> {
  const body = await exchange.readBody(maxBodyBytes);
  await bodyTurn(body.length);
  const document = await decoder.readYaml(body);
  let result: ApplyDocument;
  try {
    const { value, duplicates } = document();
    if (value !== null && !isJsonObject(value)) {
      throw new TypeError(
        `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type map[string]interface {}`,
      );
    }
    result = { config: value ?? {}, duplicates, bytes: body.length };
  } catch (error) {
    throw statusErrors.badRequest(`error decoding YAML: ${(error as Error).message}`, error);
  }
  await giveWay(body.length);
  return result;
}

export interface ApplyModules {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
}

/**
 * The object that an apply makes of the current one, in the shape of its kind, with its managedFields. Duplicate keys
 * are told of only when the configuration was good otherwise (K4.5).
 */
export async function applyDocument(
  { store, decoder }: ApplyModules,
  write: FieldWrite & { warn(text: string): void },
  expected: ExpectedKind,
  document: ApplyDocument,
  current: DeepReadonly<KubeObject> | undefined,
  options: Pick<WriteOptions, 'force'> & { readonly fieldValidation: FieldValidation },
): Promise<KubeObject> {
  const { config, bytes } = document;
  const { object, managedFields } = await store.modules.fields.apply(write, current, config, {
    force: options.force,
    bytes,
  });
  reportDuplicates(document, write, options.fieldValidation);
  try {
    await inSteps(decoder.shapeInSteps(asJson(object), expected, { keepNulls: true }), bytes);
  } catch (error) {
    if (!(error instanceof UnmarshalError)) throw error;
    throw statusErrors.untyped(error.message);
  }
  await giveWay(bytes);
  if (current === undefined) checkNoUid(write, object);
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

/** An apply that names a uid means an object that was there. */
function checkNoUid({ definition }: FieldWrite, { metadata }: KubeObject): void {
  const uid = getOwn(metadata as JsonObject, 'uid');
  if (typeof uid !== 'string' || uid === '') return;
  throw statusErrors.conflict(
    { group: definition.group, resource: definition.resource },
    metadata.name ?? '',
    `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
  );
}
