/** JSON source text access: Node 22 has it, TypeScript's library does not know it yet. */
declare global {
  interface JSON {
    /** A value that `stringify` writes as this text: an integer beyond 2^53, without loss. */
    rawJSON(text: string): object;
  }
}

export {};
