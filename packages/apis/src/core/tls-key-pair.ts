import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

const hasPem = (text: string, type: RegExp): boolean => type.test(text);
const certificateBlock = /-----BEGIN CERTIFICATE-----/;
const keyBlock = /-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY-----/;

/** Why a certificate and a key are no pair, in the words of Go's crypto/tls; undefined when they are one. */
export function tlsKeyPairProblem(certificatePem: Buffer, keyPem: Buffer): string | undefined {
  if (!hasPem(certificatePem.toString('latin1'), certificateBlock)) {
    return 'tls: failed to find any PEM data in certificate input';
  }
  if (!hasPem(keyPem.toString('latin1'), keyBlock)) return 'tls: failed to find any PEM data in key input';
  let certificate: X509Certificate;
  let key: KeyObject;
  try {
    certificate = new X509Certificate(certificatePem);
  } catch {
    return 'x509: malformed certificate';
  }
  try {
    key = createPrivateKey(keyPem);
  } catch {
    return 'tls: failed to parse private key';
  }
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key';
}
