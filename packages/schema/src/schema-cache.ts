import type { JsonObject } from '@multiplane/apimachinery';
import { compileSchema, hashOfText, schemaText, type CompileOptions } from './compile-schema.ts';
import type { CompiledSchema } from './compiled-schema.ts';

export interface SchemaCacheOptions extends CompileOptions {
  /** Compiled schemas kept at most. */
  readonly maxEntries?: number | undefined;
  /** Bytes of schema documents kept at most; what is compiled from them grows with them. */
  readonly maxBytes?: number | undefined;
}

/** What is found out of a document once. */
interface Identity {
  readonly hash: string;
  /** Length of its JSON text. */
  readonly bytes: number;
}

interface Entry {
  readonly schema: CompiledSchema;
  readonly bytes: number;
}

/**
 * Compiled schemas by the hash of their content: ten thousand workspaces with the same definitions share one. The least
 * recently used are evicted when entries or bytes exceed their limit; holders of an evicted schema may still use it. A
 * document that was looked up is cached by identity, so that a second lookup computes no hash.
 */
export class SchemaCache {
  readonly #options: SchemaCacheOptions;
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  readonly #identities = new WeakMap<JsonObject, Identity>();
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
    const { hash, bytes } = this.#identityOf(source);
    const known = this.#entries.get(hash);
    if (known !== undefined) {
      this.#entries.delete(hash);
      this.#entries.set(hash, known);
      return known.schema;
    }
    const schema = compileSchema(source, this.#options, hash);
    this.#entries.set(hash, { schema, bytes });
    this.#bytes += bytes;
    while (this.#entries.size > 1 && (this.#entries.size > this.#maxEntries || this.#bytes > this.#maxBytes))
      this.#evict();
    return schema;
  }

  #identityOf(source: JsonObject): Identity {
    let identity = this.#identities.get(source);
    if (identity === undefined) {
      const text = schemaText(source);
      identity = { hash: hashOfText(text, this.#options.origin), bytes: text.length };
      this.#identities.set(source, identity);
    }
    return identity;
  }

  #evict(): void {
    const [hash, entry] = this.#entries.entries().next().value as [string, Entry];
    this.#entries.delete(hash);
    this.#bytes -= entry.bytes;
  }
}
