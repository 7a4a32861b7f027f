import { hash } from 'node:crypto';
import {
  appendErrors,
  fieldErrors,
  fieldErrorText,
  FieldPath,
  type FieldError,
  type Json,
  type JsonObject,
  type JsonTextDetails,
  type TypedSchema,
} from '@multiplane/apimachinery';
import { applyDefaults } from './apply-defaults.ts';
import { coerceEmbedded } from './coerce-embedded.ts';
import type { MayCompile } from './compilation.ts';
import type { CompiledSchema, PatchMeta, PruneReport } from './compiled-schema.ts';
import { convertTyped } from './convert-typed.ts';
import { decodeTyped } from './decode-typed.ts';
import { patchMetaOf } from './patch-meta.ts';
import { Pruner } from './prune.ts';
import { frozen, SchemaCompiler, type SchemaCompilerOptions } from './schema-compiler.ts';
import type { SchemaNode } from './schema-node.ts';
import { TypedSchemaCompiler } from './typed-schema-compiler.ts';
import { validateEmbedded } from './validate-embedded.ts';
import { validateListTypes } from './validate-list-types.ts';
import { ValueValidator, type ValueCheckLimits } from './validate-value.ts';
import { WorkBudget, WorkBudgetExceeded, type IsOverdue } from './work-budget.ts';

/**
 * Judges `x-kubernetes-validations`. Called after everything else has been checked, and only if no error of the kinds
 * in {@link blocking} was found: rules may rely on the types of what they read.
 */
export interface RuleValidator {
  /** `warn` hears of failures that may stay because nothing has changed there. */
  validate(
    object: JsonObject,
    old: JsonObject | undefined,
    warn?: (text: string) => void,
    limits?: RuleLimits,
  ): FieldError[];
}

export interface RuleLimits {
  /** Throws {@link OutOfPatience} instead of using up more cost units than these. */
  readonly patience?: number | undefined;
  /** Called with the cost units that the rules have used. */
  readonly onCost?: ((units: number) => void) | undefined;
  /** Absent: whatever is needed. */
  readonly mayCompile?: MayCompile | undefined;
  /** The work that the object may still take; absent: that of a whole object, without pauses. */
  readonly budget?: WorkBudget | undefined;
}

export interface CompileOptions extends SchemaCompilerOptions {
  /** Makes the judge of the schema's rules; absent: rules are not judged. */
  readonly rules?: ((source: JsonObject) => RuleValidator) | undefined;
  /** What server-side apply takes for the schema; absent: the schema itself. */
  readonly applySchema?: ((source: JsonObject) => JsonObject) | undefined;
}

/** The hash by which compiled schemas are shared: of the whole document, origin included. */
export function schemaHash(source: JsonObject, origin: SchemaCompilerOptions['origin']): string {
  return hashOfText(schemaText(source), origin);
}

/** {@link schemaHash} of a document whose text is known. */
export function hashOfText(text: string, origin: SchemaCompilerOptions['origin']): string {
  return hash('sha256', `${origin} ${text}`, 'base64url');
}

/** JSON of a document. Great integers are rare, and looking for them costs more than all the rest. */
export function schemaText(source: JsonObject): string {
  try {
    return JSON.stringify(source);
  } catch {
    return JSON.stringify(source, (_key, value: unknown) =>
      typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
    );
  }
}

/**
 * Compiles a schema when it is first used, or by {@link CompiledSchema.prepare}: most definitions of
 * a surface that is listed are not asked for anything. The document is frozen: the compiled schema keeps parts of it.
 * `known` is the hash of the document if the caller has it.
 */
export function compileSchema(source: JsonObject, options: CompileOptions, known?: string): CompiledSchema {
  return new StructuralSchema(
    source,
    () => new SchemaCompiler(options).compile(source),
    options,
    new TypedSchemaCompiler(options),
    known,
  );
}

/** A compiler whose schemas share the definitions behind `$ref`: one for all built-in kinds. */
export function createSchemaCompiler(options: CompileOptions): (source: JsonObject) => CompiledSchema {
  const compiler = new SchemaCompiler(options);
  const typedCompiler = new TypedSchemaCompiler(options);
  return (source) => new StructuralSchema(source, () => compiler.compile(source), options, typedCompiler);
}

/** Kinds of errors after which rules are not judged any more. */
const blocking = new Set<FieldError['type']>([
  'FieldValueRequired',
  'FieldValueNotSupported',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const rulesNotChecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

class StructuralSchema implements CompiledSchema {
  readonly source: JsonObject;
  /** Until it was called. */
  #compile: (() => SchemaNode) | undefined;
  #compiled: SchemaNode | undefined;
  readonly #options: CompileOptions;
  readonly #typedCompiler: TypedSchemaCompiler;
  #typed: TypedSchema | undefined;
  #hash: string | undefined;
  #rules: RuleValidator | undefined;
  /** What rules had to say of objects under validation, until the object is gone. */
  readonly #warnings = new WeakMap<JsonObject, string[]>();

  constructor(
    source: JsonObject,
    compile: () => SchemaNode,
    options: CompileOptions,
    typedCompiler: TypedSchemaCompiler,
    known?: string,
  ) {
    this.#hash = known;
    this.source = frozen(source);
    this.#compile = compile;
    this.#options = options;
    this.#typedCompiler = typedCompiler;
  }

  get #root(): SchemaNode {
    return this.#compiled ?? this.#compileNow();
  }

  #compileNow(): SchemaNode {
    const root = (this.#compile as () => SchemaNode)();
    if (root.hasRules) this.#rules = this.#options.rules?.(this.source);
    this.#compiled = root;
    this.#compile = undefined;
    return root;
  }

  prepare(): void {
    void this.#root;
  }

  get hash(): string {
    this.#hash ??= schemaHash(this.source, this.#options.origin);
    return this.#hash;
  }

  get patchMeta(): PatchMeta {
    return patchMetaOf(this.#root);
  }

  get typed(): TypedSchema {
    return (this.#typed ??= this.#typedCompiler.compile(this.#options.applySchema?.(this.source) ?? this.source));
  }

  emptyObject(): JsonObject {
    return {};
  }

  decodeTyped(object: JsonObject, details?: JsonTextDetails): readonly string[] {
    return decodeTyped(object, this.#root, details);
  }

  convertTyped(object: JsonObject, details?: JsonTextDetails): void {
    convertTyped(object, this.#root, details);
  }

  prune(object: JsonObject): PruneReport {
    // Objects of built-in kinds are decoded before they are pruned.
    const pruner = new Pruner({ isTyped: this.#options.origin === 'built-in' });
    pruner.prune(object, this.#root, true);
    return { unknownFields: pruner.unknown };
  }

  coerce(object: JsonObject): string | undefined {
    if (!this.#root.hasEmbedded) return undefined;
    const problem = coerceEmbedded(object, this.#root, FieldPath.root());
    return problem === undefined ? undefined : fieldErrorText(problem);
  }

  applyDefaults(object: JsonObject, options: { readonly keepNulls?: boolean | undefined } = {}): void {
    applyDefaults(object, this.#root, true, options.keepNulls);
  }

  validate(
    object: JsonObject,
    options: {
      readonly old?: JsonObject | undefined;
      readonly subtree?: 'status' | undefined;
      readonly beside?: readonly FieldError[] | undefined;
      readonly metadataErrors?: readonly FieldError[] | undefined;
      readonly isOverdue?: IsOverdue | undefined;
    } & Omit<RuleLimits, 'budget'> = {},
  ): FieldError[] {
    if (this.#options.origin === 'built-in') return [];
    const { isOverdue, ...rest } = options;
    const budget = new WorkBudget({ isOverdue });
    try {
      return this.#validate(object, { ...rest, budget });
    } catch (error) {
      if (!(error instanceof WorkBudgetExceeded)) throw error;
      return [fieldErrors.invalid('<nil>', null, error.message)];
    }
  }

  #validate(
    object: JsonObject,
    options: {
      readonly old?: JsonObject | undefined;
      readonly subtree?: 'status' | undefined;
      readonly beside?: readonly FieldError[] | undefined;
      readonly metadataErrors?: readonly FieldError[] | undefined;
      readonly budget: WorkBudget;
    } & RuleLimits,
  ): FieldError[] {
    const { old, budget } = options;
    const errors =
      options.subtree === 'status'
        ? this.#validateStatus(object, old, options)
        : this.#validateWhole(object, old, options);
    appendErrors(errors, options.beside ?? []);
    // The status endpoint of Kubernetes does not look at embedded resources.
    if (this.#root.hasEmbedded && options.subtree === undefined)
      appendErrors(errors, validateEmbedded(object, this.#root));
    if (this.#root.hasUniqueLists) {
      const repeated = validateListTypes(object, this.#root, budget);
      if (repeated.length > 0 && !this.#hadRepeatedItems(old, budget)) appendErrors(errors, repeated);
    }
    if (this.#root.hasRules) {
      if ([...errors, ...(options.metadataErrors ?? [])].some((error) => blocking.has(error.type)))
        errors.push(fieldErrors.invalid('<nil>', null, rulesNotChecked));
      else if (this.#rules !== undefined) appendErrors(errors, this.#judge(this.#rules, object, options));
    }
    return errors;
  }

  ruleWarnings(object: JsonObject): readonly string[] {
    return this.#warnings.get(object) ?? [];
  }

  #judge(
    rules: RuleValidator,
    object: JsonObject,
    { old, ...limits }: { readonly old?: JsonObject | undefined } & RuleLimits,
  ): FieldError[] {
    const warnings: string[] = [];
    const errors = rules.validate(object, old, (text) => void warnings.push(text), limits);
    if (warnings.length > 0) this.#warnings.set(object, warnings);
    else this.#warnings.delete(object);
    return errors;
  }

  #validateWhole(object: JsonObject, old: Json | undefined, limits: ValueCheckLimits): FieldError[] {
    const validator = new ValueValidator('', limits);
    validator.validate(object, this.#root, old);
    return validator.errors;
  }

  #validateStatus(object: JsonObject, old: JsonObject | undefined, limits: ValueCheckLimits): FieldError[] {
    const node = this.#root.properties?.get('status');
    const status = object['status'];
    if (node === undefined || status === undefined) return [];
    const validator = new ValueValidator('status', limits);
    validator.validate(status, node, old?.['status']);
    return validator.errors;
  }

  /** An object that was stored with repeated items may keep having some. */
  #hadRepeatedItems(old: JsonObject | undefined, budget: WorkBudget): boolean {
    return old !== undefined && validateListTypes(old, this.#root, budget).length > 0;
  }
}
