import type { JsonObject } from '@multiplane/apimachinery';
import { compileSchema, schemaHash, type CompileOptions } from './compile-schema.ts';
import type { CompiledSchema } from './compiled-schema.ts';

export interface SchemaCacheOptions extends CompileOptions {
  /** Compiled schemas kept at most. */
  readonly maxEntries?: number | undefined;
  /** Bytes of schema documents kept at most; what is compiled from them grows with them. */
  readonly maxBytes?: number | undefined;
}

interface Entry {
  readonly schema: CompiledSchema;
  readonly bytes: number;
}

/**
 * Compiled schemas by the hash of their content: ten thousand workspaces with the same definitions share one (cost
 * rule 2). The least recently used go when entries or bytes exceed their limit; whoever still holds one may go on
 * using it. A document that was looked up is remembered by identity, so that asking again costs no hash.
 */
export class SchemaCache {
  readonly #options: SchemaCacheOptions;
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  readonly #hashes = new WeakMap<JsonObject, string>();
  #bytes = 0;

  constructor(options: SchemaCacheOptions) {
    this.#options = options;
    this.#maxEntries = options.maxEntries ?? 5_000;
    this.#maxBytes = options.maxBytes ?? 128 * 1024 * 1024;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The compiled form of the document. The document must not change afterwards; it is frozen. */
  get(source: JsonObject): CompiledSchema {
    let hash = this.#hashes.get(source);
    if (hash === undefined) {
      hash = schemaHash(source, this.#options.origin);
      this.#hashes.set(source, hash);
    }
    const known = this.#entries.get(hash);
    if (known !== undefined) {
      this.#entries.delete(hash);
      this.#entries.set(hash, known);
      return known.schema;
    }
    const schema = compileSchema(source, this.#options, hash);
    const bytes = documentBytes(source);
    this.#entries.set(hash, { schema, bytes });
    this.#bytes += bytes;
    while (this.#entries.size > 1 && (this.#entries.size > this.#maxEntries || this.#bytes > this.#maxBytes))
      this.#evict();
    return schema;
  }

  #evict(): void {
    const [hash, entry] = this.#entries.entries().next().value as [string, Entry];
    this.#entries.delete(hash);
    this.#bytes -= entry.bytes;
  }
}

/** About what a document's JSON text measures. */
function documentBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 2;
  for (const key of Object.keys(value))
    bytes += key.length + 4 + documentBytes((value as Record<string, unknown>)[key]);
  return bytes;
}
