/** A certificate and the key that belongs to it, as PEM. */
export interface Certificate {
  readonly certificatePem: string;
  /** PKCS #8. */
  readonly privateKeyPem: string;
}

/** The subject of a serving certificate. */
export interface ServerIdentity {
  readonly commonName: string;
  readonly dnsNames?: readonly string[] | undefined;
  readonly ipAddresses?: readonly string[] | undefined;
}

/** The identity of a client certificate: Kubernetes reads the user from CN and the groups from O. */
export interface ClientIdentity {
  readonly user: string;
  readonly groups?: readonly string[] | undefined;
}

/** Paths of a certificate and its key. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
}
