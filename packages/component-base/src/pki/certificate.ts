/** A certificate and the key that belongs to it, as PEM. */
export interface Certificate {
  readonly certificatePem: string;
  /** PKCS #8. */
  readonly privateKeyPem: string;
}

/** What a serving certificate is valid for. */
export interface ServerIdentity {
  readonly commonName: string;
  readonly dnsNames?: readonly string[] | undefined;
  readonly ipAddresses?: readonly string[] | undefined;
}

/** Who a client certificate speaks for: Kubernetes reads the user from CN and the groups from O. */
export interface ClientIdentity {
  readonly user: string;
  readonly groups?: readonly string[] | undefined;
}

/** Where a certificate and its key lie. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
}
