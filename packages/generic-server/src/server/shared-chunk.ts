/** A part of a gzip stream that ends at the border of a byte and refers to nothing before it. */
export interface DeflatedChunk {
  readonly bytes: Buffer;
  /** CRC-32 of the content. */
  readonly crc: number;
  /** {@link crc32Shift} of its length. */
  readonly shift: number;
}

/** A chunk that several responses send. */
export interface SharedChunk {
  /** Whether a compressed response has contained it. */
  wasCompressed: boolean;
  /** Kept from the second compressed response on, unless the content before the chunk changes; at once if it replaces such a chunk. */
  deflated: DeflatedChunk | undefined;
}

const chunks = new WeakMap<Buffer, SharedChunk>();

/**
 * Declares that `chunk` never changes and is written to several responses: its compressed form is kept as long as the chunk itself,
 * so this may double the memory that a cache of such chunks takes. `replaced`: the chunk that was sent in its place until now, so that
 * the next compressed response probably contains this one. Returns the chunk.
 */
export function shareChunk(chunk: Buffer, replaced?: Buffer): Buffer {
  const wasCompressed = replaced !== undefined && chunks.get(replaced)?.wasCompressed === true;
  chunks.set(chunk, { wasCompressed, deflated: undefined });
  return chunk;
}

/** Undefined if the chunk was not declared by {@link shareChunk}. */
export function sharedChunk(chunk: Buffer): SharedChunk | undefined {
  return chunks.get(chunk);
}
