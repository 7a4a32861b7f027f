import type { FieldError, FieldPath, JsonObject } from '@multiplane/apimachinery';

interface CrdSchemaContext {
  readonly path: FieldPath;
  /** The status subresource narrows what the root of the schema may say. */
  readonly hasStatus: boolean;
  /** The schema that this version had before; what did not change is judged more leniently. */
  readonly old: JsonObject | undefined;
}

/** Rules for the schema of a version (K5.2, K5.8). */
export function crdSchemaErrors(_schema: JsonObject, _context: CrdSchemaContext): FieldError[] {
  return [];
}
