import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits, as text for URLs and headers. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** The key under which a secret is stored: a look-up by it tells nothing about the secret through its duration. */
export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Compares without telling through its duration where the texts differ. */
export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(digestOf(a)), Buffer.from(digestOf(b)));
