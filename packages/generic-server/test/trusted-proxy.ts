import { X509Certificate } from 'node:crypto';
import type { Certificate } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import type { CertificateAuthorities } from '../src/authentication/client-certificate.ts';

/** FOR TESTS: the certificate of a proxy (common name `front-proxy`) and its CA. */
export class TrustedProxy {
  readonly certificate: Certificate;
  readonly authorities: CertificateAuthorities;

  private constructor(certificate: Certificate, authority: X509Certificate) {
    this.certificate = certificate;
    // Always the same list, because a changed list invalidates cached verifications.
    const list = [authority];
    this.authorities = { current: () => list };
  }

  static async create(): Promise<TrustedProxy> {
    const authority = await CertificateAuthority.create({ commonName: 'proxies' });
    return new TrustedProxy(
      await authority.issueClient({ user: 'front-proxy' }),
      new X509Certificate(authority.pem.certificatePem),
    );
  }
}
