import type { Certificate } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';

/** A CA with a serving certificate for loopback, and client certificates on demand. */
export interface TestCertificates {
  readonly authority: CertificateAuthority;
  readonly authorityPem: string;
  /** Valid for localhost, 127.0.0.1 and ::1. */
  readonly server: Certificate;
  client(user: string, groups?: readonly string[]): Promise<Certificate>;
}

/** Creates a CA; takes some ten milliseconds. */
export async function testCertificates(commonName = 'multiplane test'): Promise<TestCertificates> {
  const authority = await CertificateAuthority.create({ commonName });
  return {
    authority,
    authorityPem: authority.pem.certificatePem,
    server: await authority.issueServer({
      commonName: 'localhost',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1', '::1'],
    }),
    client: (user, groups) => authority.issueClient({ user, groups }),
  };
}
