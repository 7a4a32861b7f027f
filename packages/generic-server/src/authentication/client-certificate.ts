import { createHash, type X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

/** Where the trusted CAs come from; asked for every new certificate, so that a rotated bundle takes effect at once. */
export interface CertificateAuthorities {
  current(): readonly X509Certificate[];
}

/** A certificate that a trusted authority signed for clients. */
export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** SHA-256 of the DER, hex. */
  readonly fingerprint: string;
}

const clientAuthUsage = '1.3.6.1.5.5.7.3.2';
const maxChainLength = 8;

/**
 * Judges the certificate a connection shows (K7.2): the TLS layer only asks for one, who is trusted is decided here.
 *
 * The verdict is kept per connection and set of authorities: a connection shows the same certificate for all its
 * requests. Validity in time is checked on every request, so a connection does not outlive its certificate.
 */
export class ClientCertificateVerifier {
  readonly #now: () => number;
  readonly #authorities: CertificateAuthorities;
  readonly #verdicts = new WeakMap<
    TLSSocket,
    { authorities: readonly X509Certificate[]; notAfter: number; verdict: ClientCertificate | Error | undefined }
  >();
  constructor(options: { readonly now: () => number }, modules: { readonly authorities: CertificateAuthorities }) {
    this.#now = options.now;
    this.#authorities = modules.authorities;
  }

  /** Undefined: the connection shows none. Throws for one that is not good here and now. */
  verify(socket: TLSSocket): ClientCertificate | undefined {
    const authorities = this.#authorities.current();
    let known = this.#verdicts.get(socket);
    if (known === undefined || known.authorities !== authorities) {
      const certificate =
        typeof socket.getPeerX509Certificate === 'function' ? socket.getPeerX509Certificate() : undefined;
      known =
        certificate === undefined
          ? { authorities, notAfter: Number.POSITIVE_INFINITY, verdict: undefined }
          : { authorities, notAfter: Date.parse(certificate.validTo), verdict: this.#judge(certificate, authorities) };
      this.#verdicts.set(socket, known);
    }
    if (known.verdict instanceof Error) throw known.verdict;
    if (known.verdict !== undefined && this.#now() > known.notAfter)
      throw new Error('the client certificate has expired');
    return known.verdict;
  }

  #judge(certificate: X509Certificate, authorities: readonly X509Certificate[]): ClientCertificate | Error {
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
      fingerprint: createHash('sha256').update(certificate.raw).digest('hex'),
    };
  }
}

/** Follows issuers up to a trusted authority; intermediates come from the bundle only. */
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

const list = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
