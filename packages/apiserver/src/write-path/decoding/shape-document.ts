import {
  type Json,
  type JsonObject,
  type JsonTextDetails,
  type KubeObject,
  type ObjectMeta,
  deepCopy,
  isJsonObject,
  isStatusError,
} from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import { metadataProblem } from '@multiplane/schema';
import { reasonOf } from './decoding-errors.ts';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError, decodeObjectMeta } from './object-meta-decoder.ts';

export interface ShapeOptions {
  readonly keepNulls?: boolean | undefined;
  /** Of the text from which the document, or a part of it, was read. */
  readonly details?: JsonTextDetails | undefined;
  /** The document is the result of a strategic merge patch or of an apply: its types are converted, not decoded. */
  readonly isConverted?: boolean | undefined;
}

/** Paths that strict decoding reports. */
export interface ShapeReport {
  readonly unknownFields: readonly string[];
  /** Members with the same name, as a typed decoder sees them; undefined: the kind has no typed decoder. */
  readonly duplicates: readonly string[] | undefined;
}

/**
 * Brings a document into the form of its kind, in place: checks types, prunes unknown fields, decodes metadata, also that of
 * embedded resources, applies defaults. Throws {@link UnmarshalError} if types do not match.
 */
export async function shapeDocument(
  document: JsonObject,
  expected: ExpectedKind,
  work: RequestWork,
  options: ShapeOptions = {},
): Promise<ShapeReport> {
  const resets = resetsManagedFields(document);
  const duplicates = decodeTypes(document, expected, options);
  await work.pause();
  const { unknownFields } = expected.schema.prune(document);
  await work.pause();
  shapeMetadata(document, expected, resets);
  coerceEmbedded(document, expected);
  await work.pause();
  expected.schema.applyDefaults(document, options);
  return { unknownFields, duplicates };
}

/** {@link shapeDocument} of what admission has changed; returns the paths of unknown fields. */
export async function conformToKind(
  document: JsonObject,
  expected: ExpectedKind,
  work: RequestWork,
): Promise<readonly string[]> {
  return (await shapeDocument(document, expected, work)).unknownFields;
}

function decodeTypes(
  document: JsonObject,
  { origin, schema }: ExpectedKind,
  { details, isConverted }: ShapeOptions,
): readonly string[] | undefined {
  if (origin !== 'built-in') return undefined;
  try {
    if (isConverted !== true) return schema.decodeTyped(document, details);
    schema.convertTyped(document, details);
    return undefined;
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

/** Kubernetes decodes the metadata of custom resources alone, which shows in what it says of a misfit. */
function decodeCustomMeta(metadata: Json | undefined): ObjectMeta {
  try {
    return decodeObjectMeta(metadata);
  } catch (error) {
    if (!(error instanceof UnmarshalError)) throw error;
    throw new UnmarshalError(metadataProblem(deepCopy(metadata ?? null)) ?? error.message, { cause: error });
  }
}

/** Throws {@link UnmarshalError} if the metadata of a custom resource has a member of a wrong type; changes nothing. */
export function checkCustomMeta({ metadata }: JsonObject): void {
  decodeCustomMeta(metadata === undefined ? undefined : deepCopy(metadata));
}

function shapeMetadata(document: JsonObject, { origin }: ExpectedKind, resets: boolean): void {
  const metadata =
    origin === 'built-in' ? decodeObjectMeta(document['metadata']) : decodeCustomMeta(document['metadata']);
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
