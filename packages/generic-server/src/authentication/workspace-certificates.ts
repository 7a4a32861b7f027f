import type { Exchange } from '../server/exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator } from './authenticator.ts';
import {
  ClientCertificateVerifier,
  type CertificateAuthorities,
  type ClientCertificate,
} from './client-certificate.ts';
import { workspaceIssuedIdentity } from './workspace-issued-identity.ts';

/**
 * Authenticates the client certificates that workspaces issue (CertificateSigningRequests of the signer
 * `kubernetes.io/kube-apiserver-client`). Their CA signs nothing else. An administrator of the workspace chooses user and groups,
 * so the user is one of a token issuer of the workspace: without `system:` groups, and in scope of its logical cluster alone.
 */
export class WorkspaceCertificateAuthenticator implements RequestAuthenticator {
  readonly #verifier: ClientCertificateVerifier;
  readonly #responses = new WeakMap<ClientCertificate, AuthenticationResponse>();

  constructor(
    options: { /** Time in milliseconds. */ readonly now: () => number },
    modules: { readonly authorities: CertificateAuthorities },
  ) {
    this.#verifier = new ClientCertificateVerifier(options, modules);
  }

  authenticate(exchange: Exchange): AuthenticationResponse | undefined {
    const certificate = this.#verifier.verify(exchange.socket);
    if (certificate === undefined || certificate.commonName === '') return undefined;
    const { commonName, organizations, fingerprint, logicalCluster } = certificate;
    if (logicalCluster === undefined) throw new Error('the client certificate names no logical cluster');
    let response = this.#responses.get(certificate);
    if (response === undefined) {
      const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
      const user = { name: commonName, uid: '', groups: organizations, extra };
      response = { user: workspaceIssuedIdentity(user, logicalCluster) };
      this.#responses.set(certificate, response);
    }
    return response;
  }
}
