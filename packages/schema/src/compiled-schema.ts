import type { FieldError, JsonObject, JsonTextDetails, TypedSchema } from '@multiplane/apimachinery';
import type { MayCompile } from './compilation.ts';
import type { IsOverdue } from './work-budget.ts';

/** What happened while an object was brought into the shape of its schema. */
export interface PruneReport {
  /** Paths of fields that the schema does not know (`spec.ports[0].x`), in the order of Kubernetes; they are gone from the object. */
  readonly unknownFields: readonly string[];
}

/** What merge patches need to know of a place in a schema. */
export interface PatchMeta {
  /** `x-kubernetes-patch-strategy`, split at commas (`merge`, `replace`, `retainKeys`). */
  readonly strategies: readonly string[];
  /** `x-kubernetes-patch-merge-key`. */
  readonly mergeKey: string | undefined;
  /** Meta of a field of this object (or of the objects in this list). Undefined: unknown field. */
  field(name: string): PatchMeta | undefined;
}

/**
 * A structural schema, compiled once per content ({@link hash}) and shared by every workspace that has it. Holds no
 * state of a request. All methods work on the whole object; `metadata`, `apiVersion` and `kind` at the root (and of
 * embedded resources) are left alone by pruning and defaulting.
 */
export interface CompiledSchema {
  /** Hash of the content it was compiled from. */
  readonly hash: string;
  /** The OpenAPI v3 document of the schema as its author wrote it. */
  readonly source: JsonObject;
  /** Does now what else would be done when the schema is first used. */
  prepare(): void;

  /**
   * Built-in kinds only: checks that the JSON types fit, as a typed decoder would; fields with null become absent.
   * Throws a StatusError 400 with a decoder's message for a wrong type. `details`: what the object does not show of the text
   * it was read from. Returns the paths of known fields and keys that the text has more than once; undefined: it did not look.
   */
  decodeTyped(object: JsonObject, details?: JsonTextDetails): readonly string[] | undefined;
  /**
   * {@link decodeTyped} for the result of a strategic merge patch, with the rules and messages of the converter of
   * apimachinery. `details` has the literals of floats.
   */
  convertTyped(object: JsonObject, details?: JsonTextDetails): void;
  /** Removes what the schema does not know, in place. */
  prune(object: JsonObject): PruneReport;
  /**
   * Brings the metadata of embedded resources into its form, in place. Answers with what is wrong with its types, which a
   * decoder refuses; undefined: nothing.
   */
  coerce(object: JsonObject): string | undefined;
  /**
   * Fills in defaults, in place; drops nulls of non-nullable fields first, or leaves them to validation, as
   * server-side apply does.
   */
  applyDefaults(object: JsonObject, options?: { readonly keepNulls?: boolean | undefined }): void;
  /**
   * Checks values; an object that needs more work than any may gets an error that says so. `old` is the stored object of an update: what was invalid before and is unchanged may stay
   * (ratcheting). `subtree: 'status'` looks at the status alone. `beside` are errors of the object that its schema does not
   * find; they have their place among the others. `metadataErrors` are those of the object's metadata, which only decide
   * whether rules are judged. Rules that would cost more than `patience` units are
   * not judged: it throws OutOfPatience, and has changed nothing. Patterns and rules are compiled when first needed, if
   * they may; else it throws NotCompiled.
   */
  validate(
    object: JsonObject,
    options?: {
      readonly old?: JsonObject | undefined;
      readonly subtree?: 'status' | undefined;
      readonly beside?: readonly FieldError[] | undefined;
      readonly metadataErrors?: readonly FieldError[] | undefined;
      readonly patience?: number | undefined;
      readonly mayCompile?: MayCompile | undefined;
      /** Called with the cost units that the rules have used. */
      readonly onCost?: ((units: number) => void) | undefined;
      /** On the event loop: whether the time slice is used up. Then it throws OutOfPatience, too. */
      readonly isOverdue?: IsOverdue | undefined;
    },
  ): FieldError[];
  /** Failures of rules that the last {@link validate} of this very object let pass, because nothing has changed there. */
  ruleWarnings(object: JsonObject): readonly string[];
  /** Root of the strategic-merge meta data (empty strategies when the schema carries none). */
  readonly patchMeta: PatchMeta /** What server-side apply works with; made when first asked for. */;
  readonly typed: TypedSchema;
  /** An object of the kind in which nothing is set, as it would be written. Belongs to the caller. */
  emptyObject(): JsonObject;
}
