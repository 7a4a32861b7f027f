import { X509Certificate } from 'node:crypto';

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** Why a CA bundle (PEM) cannot be used, with the message of Kubernetes' webhook validation; undefined for a usable bundle. */
export function caBundleProblem(pem: string): string | undefined {
  const problem = (text: string): string => `unable to load root certificates: ${text}`;
  const certificates = [...pem.matchAll(block)].filter(([, type]) => type === 'CERTIFICATE');
  if (certificates.length === 0) return problem('unable to parse bytes as PEM block');
  try {
    for (const [text] of certificates) readCertificate(text);
  } catch (error) {
    return problem(`failed to parse certificate: ${(error as Error).message}`);
  }
  return undefined;
}

const readCertificate = (text: string): X509Certificate => new X509Certificate(text);

/** {@link caBundleProblem} for the base64 text of a `caBundle` field. An empty text selects the system's roots. */
export function encodedBundleProblem(base64: string): string | undefined {
  return base64 === '' ? undefined : caBundleProblem(Buffer.from(base64, 'base64').toString('utf8'));
}
