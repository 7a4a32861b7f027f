import { X509Certificate } from 'node:crypto';

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** Why a bundle of authorities (PEM) cannot be used, in Kubernetes' words; undefined when it can (K6.4). */
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

/** The same of the base64 text that stands in an object; an absent bundle means the usual authorities. */
export function encodedBundleProblem(base64: string): string | undefined {
  return base64 === '' ? undefined : caBundleProblem(Buffer.from(base64, 'base64').toString('utf8'));
}
