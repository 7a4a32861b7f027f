import {
  isStatusError,
  statusErrors,
  type FieldError,
  type JsonObject,
  type JsonTextDetails,
  type KubeObject,
  type TypedSchema,
  errorText,
} from '@multiplane/apimachinery';
import { createSchemaCompiler, type CompiledSchema, type PatchMeta, type PruneReport } from '@multiplane/schema';
import { component } from './components.ts';
import { inFieldOrder, resolveInFieldOrder } from './field-order.ts';
import { fillZeros, normalizeTyped } from './typed-decoding.ts';
import { shapeOf, type Shape } from './typed-shape.ts';

interface BuiltInSchemaOptions {
  /** Name of the schema component. */
  readonly component: string;
  /** Defaults of the type, applied after those of the schema. */
  readonly defaults?: ((object: KubeObject) => void) | undefined;
}

/** One compiler for all: kinds share what they refer to. */
const compile = createSchemaCompiler({ origin: 'built-in', resolve: resolveInFieldOrder });

/**
 * The schema of a built-in kind. On top of what the published schema says it brings objects into the form in which a
 * typed server writes them (see {@link normalizeTyped}) and applies the type's own defaults. Values are not checked
 * here but by the kind's strategy. Everything is compiled when first needed: most processes never see most kinds.
 */
export class BuiltInSchema implements CompiledSchema {
  readonly #options: BuiltInSchemaOptions;
  #compiled: CompiledSchema | undefined;
  #shape: Shape | undefined;

  constructor(options: BuiltInSchemaOptions) {
    this.#options = options;
  }

  get source(): JsonObject {
    const source = component(this.#options.component);
    if (source === undefined) throw new TypeError(`no schema component ${this.#options.component}`);
    return source;
  }

  get hash(): string {
    return this.#schema.hash;
  }

  prepare(): void {
    this.#schema.prepare();
  }

  ruleWarnings(): readonly string[] {
    return [];
  }

  get patchMeta(): PatchMeta {
    return this.#schema.patchMeta;
  }

  decodeTyped(object: JsonObject, details?: JsonTextDetails): readonly string[] | undefined {
    const duplicates = this.#schema.decodeTyped(object, details);
    this.#normalize(object);
    return duplicates;
  }

  convertTyped(object: JsonObject, details?: JsonTextDetails): void {
    this.#schema.convertTyped(object, details);
    this.#normalize(object);
  }

  #normalize(object: JsonObject): void {
    try {
      normalizeTyped(object, this.#typedShape);
    } catch (error) {
      if (isStatusError(error)) throw error;
      const why = errorText(error);
      throw statusErrors.badRequest(why, error);
    }
  }

  get typed(): TypedSchema {
    return this.#schema.typed;
  }

  emptyObject(): JsonObject {
    const object: JsonObject = {};
    fillZeros(object, this.#typedShape);
    return object;
  }

  prune(object: JsonObject): PruneReport {
    return this.#schema.prune(object);
  }

  /** Fields of built-in kinds that embed an object are free of form. */
  coerce(): undefined {
    return undefined;
  }

  applyDefaults(object: JsonObject): void {
    fillZeros(object, this.#typedShape);
    this.#options.defaults?.(object as unknown as KubeObject);
  }

  validate(): FieldError[] {
    return [];
  }

  get #schema(): CompiledSchema {
    return (this.#compiled ??= compile(inFieldOrder(this.#options.component, this.source)));
  }

  get #typedShape(): Shape {
    return (this.#shape ??= shapeOf(this.#options.component));
  }
}
