import type * as AjvLibrary from 'ajv';
import { lazyLibrary } from '../loading/lazy-library.ts';
import { ConfigurationError } from './configuration-error.ts';
import { schemaProblems } from './schema-problems.ts';

/** The library is loaded by the first document: most starts have none, and loading takes tens of milliseconds. */
const ajvLibrary = lazyLibrary<typeof AjvLibrary>(import.meta.url, 'ajv');

/**
 * A JSON Schema (draft 7) as ajv reads it in strict mode. The `description` of a subschema with a pattern or a length
 * completes "must be …" in errors.
 */
export type ConfigurationSchema = Readonly<Record<string, unknown>>;

export interface ConfigurationDocumentModules {
  /** Text to plain JSON values; throws what is wrong with the text. */
  readonly decode: (text: string) => unknown;
}

/**
 * A kind of configuration document: the files of one flag, and their schema.
 *
 * ```
 *  text → decode (YAML or JSON) → drop null members → JSON Schema → T, or a ConfigurationError with every problem
 * ```
 *
 * A null member counts as absent, as in Go's decoders. The schema covers structure: types, required and unknown fields,
 * enumerations, patterns. Rules that compare fields, and rules whose error texts are Kubernetes' own, stay with the reader
 * of the document, which reports them as a {@link ConfigurationError}, too.
 */
export class ConfigurationDocument<T> {
  readonly #schema: ConfigurationSchema;
  readonly #decode: (text: string) => unknown;
  #validate: AjvLibrary.ValidateFunction<T> | undefined;

  constructor(options: { readonly schema: ConfigurationSchema }, modules: ConfigurationDocumentModules) {
    this.#schema = options.schema;
    this.#decode = modules.decode;
  }

  /** The content of a document; `file` names it in errors. Throws {@link ConfigurationError}. */
  parse(text: string, file: string): T {
    let decoded: unknown;
    try {
      decoded = this.#decode(text);
    } catch (cause) {
      throw new ConfigurationError(file, [cause instanceof Error ? cause.message : String(cause)], { cause });
    }
    return this.validate(decoded, file);
  }

  /** {@link parse} for a document that is decoded already. */
  validate(decoded: unknown, file: string): T {
    const document = withoutNullMembers(decoded);
    this.#validate ??= compile<T>(this.#schema);
    if (this.#validate(document)) return document;
    throw new ConfigurationError(file, schemaProblems(this.#validate.errors ?? [], document));
  }
}

function compile<T>(schema: ConfigurationSchema): AjvLibrary.ValidateFunction<T> {
  const { Ajv } = ajvLibrary();
  // The meta-schema is left out: it takes longer to compile than the rest, and strict mode finds unknown keywords.
  const ajv = new Ajv({
    strict: true,
    allErrors: true,
    verbose: true,
    ownProperties: true,
    meta: false,
    validateSchema: false,
  });
  return ajv.compile<T>(schema);
}

function withoutNullMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullMembers);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNullMembers(member)]));
}
