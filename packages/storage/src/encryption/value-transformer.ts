/** A decrypted value. */
export interface Decrypted {
  readonly value: Buffer;
  /** It was not written with the first provider and key: the next write encrypts it again. */
  readonly stale: boolean;
}

/**
 * Transforms values between the store and its users. `context` is the key of the value in the store: authenticated
 * encryption binds a value to its key, so that a value that was copied to another key does not decrypt. Methods may return
 * a promise (KMS); they throw an Error with the reason.
 */
export interface ValueTransformer {
  encrypt(value: Buffer, context: string): Buffer | Promise<Buffer>;
  decrypt(stored: Buffer, context: string): Decrypted | Promise<Decrypted>;
}

/** Every encrypted value starts with it; JSON and protobuf never do. */
const encryptedPrefix = Buffer.from('k8s:enc:');

const isEncrypted = (stored: Buffer): boolean =>
  stored.length >= encryptedPrefix.length && stored.subarray(0, encryptedPrefix.length).equals(encryptedPrefix);

/** Stores values as they are, and refuses encrypted ones. */
export const identityTransformer: ValueTransformer = {
  encrypt: (value) => value,
  decrypt: (value) => {
    if (isEncrypted(value)) throw new Error('identity transformer tried to read encrypted data');
    return { value, stale: false };
  },
};

export interface PrefixedTransformer {
  /** Empty for identity. */
  readonly prefix: string;
  readonly transformer: ValueTransformer;
}

interface Candidate {
  readonly prefix: Buffer;
  readonly transformer: ValueTransformer;
}

/**
 * Writes with the first transformer and its prefix; reads with the first one that has the prefix of the value and accepts
 * it, since several keys of one provider share a prefix. What another one than the first has written is stale.
 */
export class PrefixTransformer implements ValueTransformer {
  readonly #transformers: readonly Candidate[];
  readonly #noMatch: string;

  constructor(transformers: readonly PrefixedTransformer[], noMatch = 'no matching prefix found') {
    this.#transformers = transformers.map(({ prefix, transformer }) => ({ prefix: Buffer.from(prefix), transformer }));
    this.#noMatch = noMatch;
  }

  encrypt(value: Buffer, context: string): Buffer | Promise<Buffer> {
    const first = this.#transformers[0];
    if (first === undefined) throw new Error('no provider is configured');
    const { prefix, transformer } = first;
    const encrypted = transformer.encrypt(value, context);
    if (prefix.length === 0) return encrypted;
    return encrypted instanceof Promise
      ? encrypted.then((bytes) => Buffer.concat([prefix, bytes]))
      : Buffer.concat([prefix, encrypted]);
  }

  decrypt(stored: Buffer, context: string): Decrypted | Promise<Decrypted> {
    return this.#decryptFrom(0, stored, context, undefined);
  }

  #decryptFrom(from: number, stored: Buffer, context: string, failure: unknown): Decrypted | Promise<Decrypted> {
    let reason = failure;
    for (let i = from; i < this.#transformers.length; i++) {
      const { prefix, transformer } = this.#transformers[i] as Candidate;
      if (stored.length < prefix.length || !stored.subarray(0, prefix.length).equals(prefix)) continue;
      try {
        const result = transformer.decrypt(stored.subarray(prefix.length), context);
        if (!(result instanceof Promise)) return i === 0 ? result : { value: result.value, stale: true };
        return result.then(
          ({ value, stale }) => ({ value, stale: stale || i !== 0 }),
          (error: unknown) => this.#decryptFrom(i + 1, stored, context, reason ?? error),
        );
      } catch (error) {
        // identity only says that the value is encrypted; the other providers say more.
        if (prefix.length > 0) reason ??= error;
      }
    }
    throw reason instanceof Error ? reason : new Error(this.#noMatch);
  }
}
