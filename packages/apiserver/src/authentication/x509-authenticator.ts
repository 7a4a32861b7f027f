import { createHash, type X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Exchange } from '../exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator } from './authenticator.ts';

interface X509Options {
  /** Time in milliseconds; certificates are valid or not by it. */
  readonly now: () => number;
}

/** Where the trusted CAs come from; asked for every new certificate, so that a rotated bundle takes effect at once. */
export interface CertificateAuthorities {
  current(): readonly X509Certificate[];
}

const clientAuthUsage = '1.3.6.1.5.5.7.3.2';

/**
 * Client certificates (K7.2): the TLS layer only asks for one, who is trusted is decided here. The user name is the CN,
 * groups are the O entries. A certificate of an unknown CA is a wrong credential (401), one without a CN is none.
 *
 * The verdict is kept per connection and certificate: a connection shows the same one for all its requests. Validity in
 * time is checked on every request, so a connection does not outlive its certificate.
 */
export class X509Authenticator implements RequestAuthenticator {
  readonly #now: () => number;
  readonly #authorities: CertificateAuthorities;
  readonly #verdicts = new WeakMap<
    TLSSocket,
    { authorities: readonly X509Certificate[]; notAfter: number; verdict: AuthenticationResponse | Error | undefined }
  >();
  constructor(options: X509Options, modules: { readonly authorities: CertificateAuthorities }) {
    this.#now = options.now;
    this.#authorities = modules.authorities;
  }

  async authenticate(exchange: Exchange): Promise<AuthenticationResponse | undefined> {
    const socket = exchange.socket;
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

  #judge(
    certificate: X509Certificate,
    authorities: readonly X509Certificate[],
  ): AuthenticationResponse | Error | undefined {
    const now = this.#now();
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo))
      return new Error('the client certificate is not valid now');
    const usages = certificate.keyUsage as readonly string[] | undefined;
    if (usages !== undefined && usages.length > 0 && !usages.includes(clientAuthUsage))
      return new Error('the client certificate is not meant for client authentication');
    if (!chains(certificate, authorities, now))
      return new Error('the client certificate is signed by an unknown authority');
    const subject = certificate.toLegacyObject().subject as unknown as Record<string, string | string[] | undefined>;
    const name = first(subject['CN']);
    if (name === undefined || name === '') return undefined;
    const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
    return {
      user: {
        name,
        uid: '',
        groups: list(subject['O']),
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
      },
    };
  }
}

const maxChainLength = 8;

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
const first = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
