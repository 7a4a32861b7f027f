import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { Decrypted, ValueTransformer } from './value-transformer.ts';

const nonceBytes = 12;
const tagBytes = 16;
const blockBytes = 16;
const infoBytes = 32;
export const seedBytes = 32;

function tooShort(): Error {
  return new Error('the stored data was shorter than the required size');
}

const gcmOf = (key: Buffer): 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm' =>
  key.length === 16 ? 'aes-128-gcm' : key.length === 24 ? 'aes-192-gcm' : 'aes-256-gcm';

/** nonce (12 bytes, random), ciphertext, tag (16 bytes); the context is authenticated. */
function sealGcm(key: Buffer, value: Buffer, context: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(gcmOf(key), key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
}

function openGcm(key: Buffer, stored: Buffer, context: string): Buffer {
  if (stored.length < nonceBytes + tagBytes) throw tooShort();
  const end = stored.length - tagBytes;
  const cipher = createDecipheriv(gcmOf(key), key, stored.subarray(0, nonceBytes), { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(context));
  cipher.setAuthTag(stored.subarray(end));
  const value = cipher.update(stored.subarray(nonceBytes, end));
  try {
    cipher.final();
  } catch (error) {
    throw new Error('message authentication failed: wrong key, or the value belongs to another key of the store', {
      cause: error,
    });
  }
  return value;
}

/** `aesgcm`. With one key at most 2^32 values may be written: its nonces are random. */
export class GcmTransformer implements ValueTransformer {
  readonly #key: Buffer;
  constructor(key: Buffer) {
    this.#key = key;
  }
  encrypt(value: Buffer, context: string): Buffer {
    return sealGcm(this.#key, value, context);
  }
  decrypt(stored: Buffer, context: string): Decrypted {
    return { value: openGcm(this.#key, stored, context), stale: false };
  }
}

/** `aescbc`: IV, ciphertext with PKCS#7 padding. Not authenticated. */
export class CbcTransformer implements ValueTransformer {
  readonly #key: Buffer;
  readonly #algorithm: string;
  constructor(key: Buffer) {
    this.#key = key;
    this.#algorithm = `aes-${key.length * 8}-cbc`;
  }
  encrypt(value: Buffer): Buffer {
    const iv = randomBytes(blockBytes);
    const cipher = createCipheriv(this.#algorithm, this.#key, iv);
    return Buffer.concat([iv, cipher.update(value), cipher.final()]);
  }
  decrypt(stored: Buffer): Decrypted {
    if (stored.length < blockBytes) throw tooShort();
    if (stored.length % blockBytes !== 0) throw new Error('the stored data is not a multiple of the block size');
    const cipher = createDecipheriv(this.#algorithm, this.#key, stored.subarray(0, blockBytes));
    try {
      return { value: Buffer.concat([cipher.update(stored.subarray(blockBytes)), cipher.final()]), stale: false };
    } catch (error) {
      throw new Error('invalid padding on input: wrong key, or damaged', { cause: error });
    }
  }
}

/**
 * AES-GCM with a key per value, derived from a seed: info (32 random bytes), then as {@link GcmTransformer} with the key
 * HKDF-Expand(SHA-256, seed, info). A seed never wears out, so it is kept across restarts (KMS v2).
 */
export class ExtendedNonceGcmTransformer implements ValueTransformer {
  readonly #seed: Buffer;
  /** Throws for a seed below 32 bytes. */
  constructor(seed: Buffer) {
    if (seed.length < seedBytes) throw new Error(`invalid seed length ${seed.length} used for key generation`);
    this.#seed = seed;
  }
  encrypt(value: Buffer, context: string): Buffer {
    const info = randomBytes(infoBytes);
    return Buffer.concat([info, sealGcm(this.#keyOf(info), value, context)]);
  }
  decrypt(stored: Buffer, context: string): Decrypted {
    if (stored.length < infoBytes) throw tooShort();
    const key = this.#keyOf(stored.subarray(0, infoBytes));
    return { value: openGcm(key, stored.subarray(infoBytes), context), stale: false };
  }
  /** One block of HKDF-Expand (RFC 5869): 32 bytes. */
  #keyOf(info: Buffer): Buffer {
    return createHmac('sha256', this.#seed)
      .update(info)
      .update(Buffer.from([1]))
      .digest();
  }
}
