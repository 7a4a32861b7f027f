import { createPrivateKey, type KeyObject } from 'node:crypto';
import { statSync } from 'node:fs';

/** Bits for others than the owner and, for reading, its group: Kubernetes mounts Secrets with mode 0440. */
const exposingBits = 0o027;
/** PEM, or the base64 of it in a kubeconfig. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----|["']?client-key-data["']?:/;

/** The field with the key of a provider of an EncryptionConfiguration; KMS providers have none. */
const encryptionKey = /\bsecret["']?:/;

/** Whether a text has a private key, or a key of an EncryptionConfiguration. */
export const holdsSecretKey = (text: string): boolean =>
  privateKey.test(text) || (text.includes('EncryptionConfiguration') && encryptionKey.test(text));

/** The mode of a file, such as `0644`, if others can read or its group can write it. */
export function exposedMode(path: string): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & exposingBits) === 0 ? undefined : `0${(mode & 0o777).toString(8)}`;
}

/** The private key of a PEM text. Throws an Error with the file, which OpenSSL's own lacks. */
export function parsePrivateKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new Error(`${file}: not a private key in PEM, or one with a passphrase`, { cause });
  }
}
