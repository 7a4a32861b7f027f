import { createHash, type X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { isLogicalClusterName, type LogicalClusterName } from '@multiplane/apimachinery';

/** The trusted CAs. Read for every verification, so that a reloaded bundle takes effect immediately. */
export interface CertificateAuthorities {
  current(): readonly X509Certificate[];
}

/** The subject of a verified client certificate. */
export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Of a certificate that a workspace issued: it is valid in this logical cluster alone. */
  readonly logicalCluster?: LogicalClusterName | undefined;
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
}

const clientAuthUsage = '1.3.6.1.5.5.7.3.2';
const maxChainLength = 8;

/**
 * Verifies the client certificate of a connection. The TLS layer requests a certificate but does not verify it.
 *
 * Results are cached per connection and set of CAs. Expiry is checked for every request, so a connection cannot outlive its
 * certificate.
 */
export class ClientCertificateVerifier {
  readonly #now: () => number;
  readonly #authorities: CertificateAuthorities;
  readonly #results = new WeakMap<
    TLSSocket,
    { authorities: readonly X509Certificate[]; notAfter: number; result: ClientCertificate | Error | undefined }
  >();
  constructor(options: { readonly now: () => number }, modules: { readonly authorities: CertificateAuthorities }) {
    this.#now = options.now;
    this.#authorities = modules.authorities;
  }

  /** Returns undefined if the connection has no client certificate. Throws for an invalid one. */
  verify(socket: TLSSocket): ClientCertificate | undefined {
    const authorities = this.#authorities.current();
    let cached = this.#results.get(socket);
    if (cached === undefined || cached.authorities !== authorities) {
      const certificate =
        typeof socket.getPeerX509Certificate === 'function' ? socket.getPeerX509Certificate() : undefined;
      cached =
        certificate === undefined
          ? { authorities, notAfter: Number.POSITIVE_INFINITY, result: undefined }
          : { authorities, notAfter: Date.parse(certificate.validTo), result: this.#verify(certificate, authorities) };
      this.#results.set(socket, cached);
    }
    if (cached.result instanceof Error) throw cached.result;
    if (cached.result !== undefined && this.#now() > cached.notAfter)
      throw new Error('the client certificate has expired');
    return cached.result;
  }

  #verify(certificate: X509Certificate, authorities: readonly X509Certificate[]): ClientCertificate | Error {
    const now = this.#now();
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo))
      return new Error('the client certificate is not valid now');
    const usages = certificate.keyUsage as readonly string[] | undefined;
    if (usages !== undefined && usages.length > 0 && !usages.includes(clientAuthUsage))
      return new Error('the client certificate is not meant for client authentication');
    if (!chains(certificate, authorities, now))
      return new Error('the client certificate is signed by an unknown authority');
    const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>;
    return {
      commonName: list(subject['CN'])[0] ?? '',
      organizations: list(subject['O']),
      logicalCluster: logicalClusterOf(certificate),
      fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
    };
  }
}

/** Whether the chain of issuers ends at a trusted CA. Intermediate certificates must be in the bundle. */
function chains(certificate: X509Certificate, authorities: readonly X509Certificate[], now: number): boolean {
  let current = certificate;
  for (let depth = 0; depth < maxChainLength; depth++) {
    const issuer = authorities.find(
      (authority) =>
        authority.ca &&
        now <= Date.parse(authority.validTo) &&
        current.checkIssued(authority) &&
        current.verify(authority.publicKey),
    );
    if (issuer === undefined) return false;
    if (issuer.checkIssued(issuer) || !authorities.some((authority) => issuer.checkIssued(authority))) return true;
    current = issuer;
  }
  return false;
}

/** Prefix of the URI that names the logical cluster in the certificates of workspaces. */
export const logicalClusterUri = 'urn:multiplane:logicalcluster:';

function logicalClusterOf({ subjectAltName }: X509Certificate): LogicalClusterName | undefined {
  const prefix = `URI:${logicalClusterUri}`;
  const name = subjectAltName?.startsWith(prefix) === true ? subjectAltName.slice(prefix.length) : '';
  return isLogicalClusterName(name) ? name : undefined;
}

const list = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
