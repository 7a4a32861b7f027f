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
 * Identities that servers give and no certificate can: ServiceAccounts, and the groups that mark a user of another logical
 * cluster. Roles bind them, so a client CA that signs for a tenant would hand out the rights of other tenants.
 */
const reservedUser = 'system:serviceaccount:';
const reservedGroups = /^system:(cluster:|serviceaccounts(:|$))/;

/**
 * Authenticates client certificates: the common name is the user name, organizations are groups. A certificate of an unknown CA,
 * or for a {@link reservedUser reserved} identity, is an invalid credential (401); one without a common name is no credential.
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
      const { commonName, organizations, fingerprint, logicalCluster } = certificate;
      // Its subject was chosen by an administrator of that workspace.
      if (logicalCluster !== undefined)
        throw new Error(`the client certificate is one of the logical cluster ${logicalCluster}`);
      const reserved = commonName.startsWith(reservedUser)
        ? `the user ${JSON.stringify(commonName)}`
        : organizations
            .filter((group) => reservedGroups.test(group))
            .map((group) => `the group ${JSON.stringify(group)}`)[0];
      if (reserved !== undefined) throw new Error(`a client certificate cannot have ${reserved}`);
      const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
      response = { user: { name: commonName, uid: '', groups: organizations, extra } };
      this.#responses.set(certificate, response);
    }
    return response;
  }
}
