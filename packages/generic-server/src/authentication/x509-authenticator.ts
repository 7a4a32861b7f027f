import type { Exchange } from '../exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator } from './authenticator.ts';
import {
  ClientCertificateVerifier,
  type CertificateAuthorities,
  type ClientCertificate,
} from './client-certificate.ts';

interface X509Options {
  /** Time in milliseconds; certificates are valid or not by it. */
  readonly now: () => number;
}

/**
 * Client certificates as credentials (K7.2). The user name is the CN, groups are the O entries. A certificate of an
 * unknown CA is a wrong credential (401), one without a CN is none.
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
