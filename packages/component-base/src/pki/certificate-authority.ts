// @peculiar/x509 finds its algorithms through tsyringe, which needs this polyfill to be loaded before it.
import 'reflect-metadata';
import { type KeyObject, X509Certificate, createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import type { Clock } from '../clock/clock.ts';
import { systemClock } from '../clock/clock.ts';
import type { Certificate, ClientIdentity, ServerIdentity } from './certificate.ts';

const day = 24 * 60 * 60 * 1000;
/** Certificates are valid from 5 minutes before they are issued, because clocks of machines differ. */
const clockSkew = 5 * 60 * 1000;
const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const curves = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
]);
const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';

/** Key usages of a client certificate, as CertificateSigningRequests name them. */
export type ClientKeyUsage = 'digital signature' | 'key encipherment';

/** How a certificate request is signed. */
export interface ClientRequestOptions {
  readonly uri: string;
  readonly keyUsages: readonly ClientKeyUsage[];
  readonly seconds: number;
  /** Throws for a subject that must not be signed. */
  readonly checkSubject: (subject: { readonly commonName: string; readonly organizations: readonly string[] }) => void;
}

export interface CertificateAuthorityModules {
  readonly clock?: Clock | undefined;
}

interface LeafRequest {
  readonly subject: x509.JsonName;
  readonly extensions: x509.Extension[];
  readonly days: number;
}

/**
 * A certificate authority with an EC P-256 key. Issues serving and client certificates; each leaf has exactly one extended
 * key usage, so that a serving certificate never authenticates a client.
 */
export class CertificateAuthority {
  readonly #certificate: x509.X509Certificate;
  readonly #privateKey: webcrypto.CryptoKey;
  readonly #clock: Clock;
  readonly pem: Certificate;

  private constructor(
    certificate: x509.X509Certificate,
    privateKey: webcrypto.CryptoKey,
    pem: Certificate,
    clock: Clock,
  ) {
    this.#certificate = certificate;
    this.#privateKey = privateKey;
    this.#clock = clock;
    this.pem = pem;
  }

  /** Creates a self-signed CA, valid for ten years by default. */
  static async create(
    options: { commonName: string; days?: number | undefined },
    modules: CertificateAuthorityModules = {},
  ): Promise<CertificateAuthority> {
    const clock = modules.clock ?? systemClock;
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: [{ CN: [options.commonName] }],
      notBefore: new Date(clock.now() - clockSkew),
      notAfter: new Date(clock.now() + (options.days ?? 3650) * day),
      keys,
      signingAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
          true,
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const pem = { certificatePem: pemOf(certificate), privateKeyPem: await exportKey(keys.privateKey) };
    return new CertificateAuthority(certificate, keys.privateKey, pem, clock);
  }

  /** Loads a stored CA. Throws when the key does not belong to the certificate. */
  static async load(pem: Certificate, modules: CertificateAuthorityModules = {}): Promise<CertificateAuthority> {
    const certificate = new x509.X509Certificate(pem.certificatePem);
    if (!new X509Certificate(pem.certificatePem).checkPrivateKey(createPrivateKey(pem.privateKeyPem))) {
      throw new Error(`the private key does not belong to the certificate of ${certificate.subject}`);
    }
    // An administrator's CA may have another kind of key than those that are created here, in the form that OpenSSL writes.
    const key = createPrivateKey(pem.privateKeyPem);
    const privateKey = await webcrypto.subtle.importKey(
      'pkcs8',
      key.export({ type: 'pkcs8', format: 'der' }),
      importAlgorithm(key),
      true,
      ['sign'],
    );
    return new CertificateAuthority(certificate, privateKey, pem, modules.clock ?? systemClock);
  }

  /** Issues a serving certificate for DNS names and IP addresses, valid for a year by default. */
  issueServer(identity: ServerIdentity, days = 365): Promise<Certificate> {
    const names: x509.JsonGeneralNames = [
      ...(identity.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
      ...(identity.ipAddresses ?? []).map((value) => ({ type: 'ip' as const, value })),
    ];
    for (const address of identity.ipAddresses ?? []) {
      if (isIP(address) === 0) throw new Error(`not an IP address: ${JSON.stringify(address)}`);
    }
    return this.#issue({
      subject: [{ CN: [identity.commonName] }],
      extensions: [
        new x509.ExtendedKeyUsageExtension([serverAuth]),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
      days,
    });
  }

  /** Issues a client certificate for a user and groups, valid for a year by default. */
  issueClient(identity: ClientIdentity, days = 365): Promise<Certificate> {
    // One RDN per O value, as OpenSSL and cfssl write them; Go reads all O values.
    const groups = (identity.groups ?? []).map((group) => ({ O: [group] }));
    return this.#issue({
      subject: [...groups, { CN: [identity.user] }],
      extensions: [new x509.ExtendedKeyUsageExtension([clientAuth])],
      days,
    });
  }

  /**
   * Signs a PKCS#10 request (PEM) for a client: its subject and public key, and `uri` as the only subject alternative name;
   * extensions of the request are not copied. Valid for `seconds`, but not longer than the CA. Returns PEM. Throws for a request
   * that cannot be read or is not signed by its key.
   */
  async signClientRequest(
    pem: string,
    { uri, keyUsages, seconds, checkSubject }: ClientRequestOptions,
  ): Promise<string> {
    const request = new x509.Pkcs10CertificateRequest(derOfRequest(pem));
    const [commonName = ''] = request.subjectName.getField('CN');
    checkSubject({ commonName, organizations: request.subjectName.getField('O') });
    if (!(await request.verify())) throw new Error('the certificate request is not signed by its key');
    const end = Math.min(this.#clock.now() + seconds * 1000, this.#certificate.notAfter.getTime());
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: request.subjectName,
      issuer: this.#certificate.subjectName,
      notBefore: new Date(this.#clock.now() - clockSkew),
      notAfter: new Date(end),
      publicKey: request.publicKey,
      signingKey: this.#privateKey,
      signingAlgorithm: { name: this.#privateKey.algorithm.name, hash: 'SHA-256' },
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        ...keyUsagesExtension(keyUsages),
        new x509.ExtendedKeyUsageExtension([clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: 'url', value: uri }]),
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate),
      ],
    });
    return pemOf(certificate);
  }

  async #issue({ subject, extensions, days }: LeafRequest): Promise<Certificate> {
    const keys = await generateKeys();
    const end = Math.min(this.#clock.now() + days * day, this.#certificate.notAfter.getTime());
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject,
      issuer: this.#certificate.subjectName,
      notBefore: new Date(this.#clock.now() - clockSkew),
      notAfter: new Date(end),
      publicKey: keys.publicKey,
      signingKey: this.#privateKey,
      signingAlgorithm: { name: this.#privateKey.algorithm.name, hash: 'SHA-256' },
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        ...extensions,
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return { certificatePem: pemOf(certificate), privateKeyPem: await exportKey(keys.privateKey) };
  }
}

/** Throws for a key that cannot sign certificates here. */
function importAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const namedCurve = curves.get(asymmetricKeyDetails?.namedCurve ?? '');
  if (namedCurve === undefined) throw new Error(`a CA needs an RSA or EC key, not ${asymmetricKeyType}`);
  return { name: 'ECDSA', namedCurve };
}

function keyUsagesExtension(usages: readonly ClientKeyUsage[]): x509.Extension[] {
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const [signs, enciphers] = [usages.includes('digital signature'), usages.includes('key encipherment')];
  if (signs && enciphers) return [new x509.KeyUsagesExtension(digitalSignature | keyEncipherment, true)];
  if (signs) return [new x509.KeyUsagesExtension(digitalSignature, true)];
  return enciphers ? [new x509.KeyUsagesExtension(keyEncipherment, true)] : [];
}

/** Blank lines and headers are skipped, as Go's decoder does; that of the library refuses them. */
function derOfRequest(pem: string): Buffer {
  const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]*)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1];
  if (body === undefined) throw new Error('not a certificate request in PEM');
  const lines = body.split('\n').filter((line) => !line.includes(':'));
  return Buffer.from(lines.join(''), 'base64');
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

/** Positive and at most 20 octets (RFC 5280 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString('hex');
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}
