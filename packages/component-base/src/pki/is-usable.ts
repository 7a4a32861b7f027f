import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** Certificates are renewed this long before they expire, which leaves a month for failed attempts. */
const renewBeforeMs = 30 * 24 * 60 * 60 * 1000;

export interface UsabilityCriteria {
  /** Bundle whose first certificate is the issuer. */
  readonly authorityPem: string;
  /** DNS names and IP addresses that the certificate must cover. */
  readonly hosts?: readonly string[] | undefined;
  /** The client identity, as `CN` and `O` values. */
  readonly subject?: { readonly user: string; readonly groups: readonly string[] } | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Whether a stored certificate can be kept: issued by this CA, valid for these names, and not about to expire. */
export function isUsable(
  certificatePem: string,
  { authorityPem, hosts = [], subject, now }: UsabilityCriteria,
): boolean {
  const certificate = new X509Certificate(certificatePem);
  const authority = new X509Certificate(authorityPem);
  const authorityEnd = Date.parse(authority.validTo);
  const end = Date.parse(certificate.validTo);
  // A certificate that expires with its CA cannot be extended by renewal.
  const isFresh = end > now + renewBeforeMs || (end > now && end >= authorityEnd);
  return (
    isFresh &&
    certificate.checkIssued(authority) &&
    certificate.verify(authority.publicKey) &&
    (subject === undefined || sameSubject(certificate, subject)) &&
    hosts.every(
      (host) =>
        (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !==
        undefined,
    )
  );
}

function sameSubject(
  certificate: X509Certificate,
  { user, groups }: NonNullable<UsabilityCriteria['subject']>,
): boolean {
  const expected = [`CN=${user}`, ...groups.map((group) => `O=${group}`)];
  return certificate.subject.split('\n').toSorted().join('\n') === expected.toSorted().join('\n');
}
