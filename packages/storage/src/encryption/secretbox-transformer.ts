import { randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import type { Decrypted, ValueTransformer } from './value-transformer.ts';

const nonceBytes = 24;
const tagBytes = 16;

/** `secretbox` (NaCl): nonce, then XSalsa20-Poly1305. The context is not authenticated. */
export class SecretboxTransformer implements ValueTransformer {
  readonly #key: Buffer;
  constructor(key: Buffer) {
    this.#key = key;
  }
  encrypt(value: Buffer): Buffer {
    const nonce = randomBytes(nonceBytes);
    return Buffer.concat([nonce, xsalsa20poly1305(this.#key, nonce).encrypt(value)]);
  }
  decrypt(stored: Buffer): Decrypted {
    if (stored.length < nonceBytes + tagBytes) throw new Error('the stored data was shorter than the required size');
    const box = xsalsa20poly1305(this.#key, stored.subarray(0, nonceBytes));
    const value = box.decrypt(stored.subarray(nonceBytes));
    return { value: Buffer.from(value.buffer, value.byteOffset, value.byteLength), stale: false };
  }
}
