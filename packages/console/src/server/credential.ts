/** What a request presents to the API server in the name of a user. */
export type Credential =
  | { readonly kind: 'token'; readonly token: string }
  /** PEM. */
  | { readonly kind: 'certificate'; readonly certificate: string; readonly privateKey: string };

/** The credential of a session, which may have to be renewed before it is used. */
export interface CredentialSource {
  /** Rejects when the credential cannot be renewed: the session has to end. */
  current(): Promise<Credential>;
  /** When the credential ends, in milliseconds since the epoch; undefined: unknown, or renewed in time. */
  readonly expiresAt: number | undefined;
  /** Withdraws it where its issuer allows that; returns where the browser ends its session with the issuer. */
  end?(): Promise<string | undefined>;
}

export const fixedCredential = (credential: Credential, expiresAt?: number): CredentialSource => ({
  current: () => Promise.resolve(credential),
  expiresAt,
});
