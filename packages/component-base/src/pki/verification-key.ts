import { createPublicKey, type KeyObject } from 'node:crypto';
import { readOptionFile } from '../options/option-file.ts';
import { OptionError } from '../options/parse-value.ts';

/** The public key, or the public half of the private key, in a file that a flag names. Throws OptionError with both. */
export function readVerificationKey(flag: string, file: string): KeyObject {
  const text = readOptionFile(flag, file);
  try {
    return createPublicKey(text);
  } catch (cause) {
    throw new OptionError(`--${flag}: ${file}: not a public or private key in PEM`, { cause });
  }
}
