import { createHash, hash } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The bytes as one big-endian number in the given base. `padded` writes one `0` per leading zero byte. */
function encode(bytes: Uint8Array, base: 36 | 62, padded: boolean): string {
  // Eight digits per division: base ** 8 and every remainder are safe integers.
  const digits = 8;
  const divisor = BigInt(base ** digits);
  let text = '';
  for (let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`); rest > 0n;) {
    let part = Number(rest % divisor);
    rest /= divisor;
    for (let digit = 0; rest > 0n ? digit < digits : part > 0; digit++) {
      text = (alphabet[part % base] as string) + text;
      part = Math.floor(part / base);
    }
  }
  if (!padded) return text === '' ? '0' : text;
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  return '0'.repeat(zeros) + text;
}

const sha224 = (data: string | Uint8Array): Buffer => hash('sha224', data, 'buffer');

/** Base 62 of bytes, leading zero bytes dropped. */
export function base62(bytes: Uint8Array): string {
  return encode(bytes, 62, false);
}

/** Base 36 of bytes, one `0` for each leading zero byte. */
export function base36Padded(bytes: Uint8Array): string {
  return encode(bytes, 36, true);
}

/** Base 62 of the SHA-224 of a text: names that kcp derives from longer ones. */
export function base62Sha224(text: string): string {
  return base62(sha224(text));
}

/** Base 36 of the SHA-224 of bytes, padded: names of new logical clusters. */
export function base36Sha224Bytes(data: Uint8Array): string {
  return base36Padded(sha224(data));
}

/** Lower-case hexadecimal SHA-224 of a text: labels of initializers and terminators. */
export function hexSha224(text: string): string {
  return sha224(text).toString('hex');
}

/** Lower-case hexadecimal SHA-256: identities of APIExports. */
export function hexSha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** The logical cluster that is a user's home. */
export function homeClusterName(user: string): string {
  return base36Padded(sha224(user).subarray(0, 8));
}
