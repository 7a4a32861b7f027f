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
    isIssuedBy(certificate, authority) &&
    (subject === undefined || sameSubject(certificate, subject)) &&
    hosts.every((host) => covers(certificate, host))
  );
}

/** Whether the CA signed the certificate. */
export const isIssuedBy = (certificate: X509Certificate, authority: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey);

/** Why clients may refuse a serving certificate: dates and hosts, in words. `now`: milliseconds since the epoch. */
export function servingProblems(
  certificatePem: string,
  { hosts, now }: { readonly hosts: readonly string[]; readonly now: number },
): string[] {
  const certificate = new X509Certificate(certificatePem);
  const { validFrom, validTo } = certificate;
  const end = Date.parse(validTo);
  const missing = hosts.filter((host) => !covers(certificate, host));
  return [
    ...(Date.parse(validFrom) > now ? [`it is not valid before ${validFrom}`] : []),
    ...(end <= now ? [`it expired at ${validTo}`] : end <= now + renewBeforeMs ? [`it expires at ${validTo}`] : []),
    ...(missing.length > 0 ? [`it does not cover the hosts ${missing.join(', ')}`] : []),
  ];
}

const covers = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined;

function sameSubject(
  certificate: X509Certificate,
  { user, groups }: NonNullable<UsabilityCriteria['subject']>,
): boolean {
  const expected = [`CN=${user}`, ...groups.map((group) => `O=${group}`)];
  return certificate.subject.split('\n').toSorted().join('\n') === expected.toSorted().join('\n');
}
