import type { X509Certificate } from 'node:crypto';
import type { Certificate, CertificateFiles } from './certificate.ts';
import { checkPair, parseCertificates } from './certificate-watcher.ts';
import { isIssuedBy } from './is-usable.ts';
import { wholePair } from './stored-pair.ts';

export interface IssuedHereCriteria {
  /** Common name of the certificates that this product issues for the purpose; undefined: any. */
  readonly leafName?: string | undefined;
  /** Common name of the CA that this product creates for the purpose. */
  readonly authorityName: string;
  /** The CAs in the folder, which may be an administrator's; several during a rotation. */
  readonly localAuthorities: readonly X509Certificate[];
}

/**
 * Whether this product issued a certificate, so that it may be reissued: by the name of the CA that it creates, also one that was
 * replaced since, or by the signature of a CA that is in the folder. Every other certificate belongs to an administrator and
 * its files are never written. Throws an Error that names the file when it is no certificate.
 */
function isIssuedHere(
  certificatePem: string,
  { certificateFile }: Pick<CertificateFiles, 'certificateFile'>,
  { leafName, authorityName, localAuthorities }: IssuedHereCriteria,
): boolean {
  const [leaf] = parseCertificates(certificatePem, certificateFile) as [X509Certificate];
  if (leafName !== undefined && !namesOf(leaf.subject).includes(`CN=${leafName}`)) return false;
  return (
    namesOf(leaf.issuer).includes(`CN=${authorityName}`) ||
    localAuthorities.some((authority) => isIssuedBy(leaf, authority))
  );
}

/**
 * The stored pair when it belongs to an administrator; undefined when there is none, or when this product issued its certificate: also
 * without its key, which a crash between the two writes leaves. Throws an Error that names the files when only one of an administrator's
 * exists, or when they do not belong together.
 */
export function foreignPair(
  stored: Partial<Certificate>,
  files: CertificateFiles,
  criteria: IssuedHereCriteria,
): Certificate | undefined {
  const { certificatePem } = stored;
  if (certificatePem !== undefined && isIssuedHere(certificatePem, files, criteria)) return undefined;
  const pair = wholePair(stored, files);
  return pair === undefined ? undefined : checkPair(pair, files);
}

const namesOf = (distinguishedName: string): string[] => distinguishedName.split('\n');
