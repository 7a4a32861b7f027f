import { createHash, hash } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The bytes as one big-endian number in the given base (C1.2). `padded` writes one `0` per leading zero byte. */
function encode(bytes: Uint8Array, base: 36 | 62, padded: boolean): string {
  const limbs = limbsOf(bytes);
  let text = '';
  // Five digits at a time: what is divided stays an exact number.
  const digits = 5;
  const divisor = base ** digits;
  for (let first = nextLimb(limbs, 0); first < limbs.length;) {
    let rest = 0;
    for (let i = first; i < limbs.length; i++) {
      const part = rest * 65536 + (limbs[i] as number);
      const quotient = Math.floor(part / divisor);
      limbs[i] = quotient;
      rest = part - quotient * divisor;
    }
    first = nextLimb(limbs, first);
    for (let i = 0; first < limbs.length ? i < digits : rest > 0; i++) {
      text = (alphabet[rest % base] as string) + text;
      rest = Math.floor(rest / base);
    }
  }
  if (!padded) return text === '' ? '0' : text;
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  return '0'.repeat(zeros) + text;
}

/** Sixteen bits each, the greatest first. Doubles, for what is divided is larger than the small integers of the engine. */
function limbsOf(bytes: Uint8Array): Float64Array {
  const odd = bytes.length % 2;
  const limbs = new Float64Array((bytes.length + odd) / 2);
  for (let i = -odd, at = 0; i < bytes.length; i += 2, at++)
    limbs[at] = ((i < 0 ? 0 : (bytes[i] as number)) << 8) | (bytes[i + 1] as number);
  return limbs;
}

/** Index of the first limb from there that is not 0. */
function nextLimb(limbs: Float64Array, from: number): number {
  let index = from;
  while (index < limbs.length && limbs[index] === 0) index++;
  return index;
}

const sha224 = (data: string | Uint8Array): Buffer => hash('sha224', data, 'buffer');

/** Base 62 of bytes, leading zero bytes dropped (C1.2). */
export function base62(bytes: Uint8Array): string {
  return encode(bytes, 62, false);
}

/** Base 36 of bytes, one `0` for each leading zero byte (C1.2). */
export function base36Padded(bytes: Uint8Array): string {
  return encode(bytes, 36, true);
}

/** Base 62 of the SHA-224 of a text: names that kcp derives from longer ones (C1.2). */
export function base62Sha224(text: string): string {
  return base62(sha224(text));
}

/** Base 36 of the SHA-224 of bytes, padded: names of new logical clusters (C1.1). */
export function base36Sha224Bytes(data: Uint8Array): string {
  return base36Padded(sha224(data));
}

/** Lower-case hexadecimal SHA-224 of a text: labels of initializers and terminators (C1.2). */
export function hexSha224(text: string): string {
  return sha224(text).toString('hex');
}

/** Lower-case hexadecimal SHA-256: identities of APIExports (C1.2). */
export function hexSha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** The logical cluster that is a user's home (C1.2). */
export function homeClusterName(user: string): string {
  return base36Padded(sha224(user).subarray(0, 8));
}
