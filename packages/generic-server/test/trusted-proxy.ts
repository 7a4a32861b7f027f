import { X509Certificate } from 'node:crypto';
import type { Certificate } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import type { CertificateAuthorities } from '../authentication/client-certificate.ts';

/** FOR TESTS: a front-proxy's certificate (name `front-proxy`) and the authority behind it. */
export class TrustedProxy {
  readonly certificate: Certificate;
  readonly authorities: CertificateAuthorities;

  private constructor(certificate: Certificate, authority: X509Certificate) {
    this.certificate = certificate;
    // The same list each time: that is how an authority that has not changed is told.
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
