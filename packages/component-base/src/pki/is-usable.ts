import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate is made anew this long before it runs out: a month of failed attempts goes by before anybody notices. */
const renewBeforeMs = 30 * 24 * 60 * 60 * 1000;

export interface Usable {
  /** Bundle whose first certificate signs. */
  readonly authorityPem: string;
  /** DNS names and addresses it must be valid for. */
  readonly hosts?: readonly string[] | undefined;
  /** Who it must speak for, as `CN` and `O` values. */
  readonly subject?: { readonly user: string; readonly groups: readonly string[] } | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Whether a stored certificate can be kept: signed by this authority, good for these names, and not about to run out. */
export function isUsable(certificatePem: string, { authorityPem, hosts = [], subject, now }: Usable): boolean {
  const certificate = new X509Certificate(certificatePem);
  const authority = new X509Certificate(authorityPem);
  const authorityEnd = Date.parse(authority.validTo);
  const end = Date.parse(certificate.validTo);
  // One that lives as long as its authority gets no longer life by being made anew.
  const lives = end > now + renewBeforeMs || (end > now && end >= authorityEnd);
  return (
    lives &&
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

function sameSubject(certificate: X509Certificate, { user, groups }: NonNullable<Usable['subject']>): boolean {
  const wanted = [`CN=${user}`, ...groups.map((group) => `O=${group}`)];
  return certificate.subject.split('\n').toSorted().join('\n') === wanted.toSorted().join('\n');
}
