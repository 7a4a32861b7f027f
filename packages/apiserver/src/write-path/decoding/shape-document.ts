import { type JsonObject, type KubeObject, isJsonObject, isStatusError } from '@multiplane/apimachinery';
import { reasonOf } from './decoding-errors.ts';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError, decodeObjectMeta } from './object-meta-decoder.ts';

export interface ShapeOptions {
  readonly keepNulls?: boolean | undefined;
}

/**
 * Brings a document into the form of its kind, in place: checks types, prunes unknown fields, decodes metadata, also that of
 * embedded resources, applies defaults. Returns the paths of unknown fields; throws {@link UnmarshalError} if types do not match.
 */
export function shapeDocument(document: JsonObject, expected: ExpectedKind, options?: ShapeOptions): readonly string[] {
  const resets = resetsManagedFields(document);
  decodeTypes(document, expected);
  const { unknownFields } = expected.schema.prune(document);
  shapeMetadata(document, resets);
  coerceEmbedded(document, expected);
  expected.schema.applyDefaults(document, options);
  return unknownFields;
}

/** {@link shapeDocument} as a generator that yields between its passes. */
export function* shapeIncrementally(
  document: JsonObject,
  expected: ExpectedKind,
  options?: ShapeOptions,
): Generator<void, readonly string[]> {
  const resets = resetsManagedFields(document);
  yield* decodeTypesIncrementally(document, expected);
  yield;
  const { unknownFields } = expected.schema.prune(document);
  yield;
  shapeMetadata(document, resets);
  yield;
  coerceEmbedded(document, expected);
  expected.schema.applyDefaults(document, options);
  return unknownFields;
}

function decodeTypes(document: JsonObject, { origin, schema }: ExpectedKind): void {
  if (origin !== 'built-in') return;
  try {
    schema.decodeTyped(document);
  } catch (error) {
    throw typeFailure(error);
  }
}

function* decodeTypesIncrementally(document: JsonObject, { origin, schema }: ExpectedKind): Generator<void, void> {
  if (origin !== 'built-in') return;
  try {
    yield* schema.decodeIncrementally(document);
  } catch (error) {
    throw typeFailure(error);
  }
}

const typeFailure = (error: unknown): unknown =>
  isStatusError(error) ? new UnmarshalError(reasonOf(error.message), { cause: error }) : error;

function coerceEmbedded(document: JsonObject, { schema }: ExpectedKind): void {
  const problem = schema.coerce(document);
  if (problem !== undefined) throw new UnmarshalError(problem);
}

function shapeMetadata(document: JsonObject, resets: boolean): void {
  const metadata = decodeObjectMeta(document['metadata']);
  // decodeObjectMeta drops empty lists, but an empty managedFields is a request to clear the field.
  if (resets) metadata.managedFields = [];
  (document as unknown as KubeObject).metadata = metadata;
}

function resetsManagedFields(document: JsonObject): boolean {
  const { metadata } = document;
  if (metadata === undefined || !isJsonObject(metadata)) return false;
  const { managedFields } = metadata;
  return Array.isArray(managedFields) && managedFields.length === 0;
}
