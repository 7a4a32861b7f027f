import type { Exchange } from '../server/exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator } from './authenticator.ts';
import {
  ClientCertificateVerifier,
  type CertificateAuthorities,
  type ClientCertificate,
} from './client-certificate.ts';

interface X509Options {
  /** Time in milliseconds, for the validity of certificates. */
  readonly now: () => number;
}

/**
 * Authenticates client certificates: the common name is the user name, organizations are groups. A certificate of an unknown CA
 * is an invalid credential (401); one without a common name is no credential.
 */
export class X509Authenticator implements RequestAuthenticator {
  readonly #verifier: ClientCertificateVerifier;
  readonly #responses = new WeakMap<ClientCertificate, AuthenticationResponse>();
  constructor(options: X509Options, modules: { readonly authorities: CertificateAuthorities }) {
    this.#verifier = new ClientCertificateVerifier(options, modules);
  }

  authenticate(exchange: Exchange): AuthenticationResponse | undefined {
    const certificate = this.#verifier.verify(exchange.socket);
    if (certificate === undefined || certificate.commonName === '') return undefined;
    let response = this.#responses.get(certificate);
    if (response === undefined) {
      const { commonName, organizations, fingerprint } = certificate;
      const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
      response = { user: { name: commonName, uid: '', groups: organizations, extra } };
      this.#responses.set(certificate, response);
    }
    return response;
  }
}
