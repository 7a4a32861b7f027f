import { statusErrors } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import * as client from 'openid-client';
import type { OidcIssuer } from './console-configuration.ts';
import type { Credential, CredentialSource } from './credential.ts';
import { basePath } from './base-path.ts';
import { fetchTrusting } from './fetch-trusting.ts';

/** State of a log-in while the browser is with the issuer. */
export interface PendingLogin {
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
}

/** A token is renewed so long before it ends. */
const renewBeforeMs = 60_000;

/** Log-in at one issuer: authorization code with PKCE, renewal of the ID token, log-out. */
export class OidcLogin {
  readonly issuer: OidcIssuer;
  readonly #clock: Pick<Clock, 'now'>;
  #configuration: Promise<client.Configuration> | undefined;

  constructor(issuer: OidcIssuer, modules: { readonly clock: Pick<Clock, 'now'> }) {
    this.issuer = issuer;
    this.#clock = modules.clock;
  }

  /** Where the browser goes, and the state to keep. `origin`: of the console, as the browser sees it. */
  async start(origin: string, returnTo: string): Promise<{ readonly url: string; readonly pending: PendingLogin }> {
    const configuration = await this.#discover();
    const verifier = client.randomPKCECodeVerifier();
    const pending: PendingLogin = {
      issuer: this.issuer.id,
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier,
      returnTo,
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri(origin),
      scope: this.issuer.scopes.join(' '),
      response_type: 'code',
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, pending };
  }

  /** Exchanges the code of the callback. Throws a StatusError 401 when the issuer or the checks refuse it. */
  async finish(origin: string, query: string, pending: PendingLogin): Promise<CredentialSource> {
    const configuration = await this.#discover();
    let tokens;
    try {
      tokens = await client.authorizationCodeGrant(configuration, new URL(this.#redirectUri(origin) + query), {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      });
    } catch (cause) {
      throw Object.assign(statusErrors.unauthorized(), { cause });
    }
    return new OidcCredential(this.#originOf(origin), { configuration, clock: this.#clock }, tokens);
  }

  #originOf = (origin: string): string => `${origin}${basePath}`;

  #redirectUri(origin: string): string {
    return `${origin}${basePath}login/oidc/${encodeURIComponent(this.issuer.id)}/callback`;
  }

  /** The documents of the issuer; read again after a failure. */
  #discover(): Promise<client.Configuration> {
    const { issuerUrl, clientId, clientSecret, ca } = this.issuer;
    this.#configuration ??= client
      .discovery(new URL(issuerUrl), clientId, clientSecret, clientSecret === undefined ? client.None() : undefined, {
        timeout: 10,
        ...(ca === undefined ? {} : { [client.customFetch]: fetchTrusting(ca) }),
      })
      .catch((cause: unknown) => {
        this.#configuration = undefined;
        throw Object.assign(statusErrors.serviceUnavailable('the issuer does not answer', 5), { cause });
      });
    return this.#configuration;
  }
}

type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

/** The ID token of a session. Whatever is renewed, a refresh token is used by one request at a time: issuers may rotate it. */
class OidcCredential implements CredentialSource {
  readonly #home: string;
  readonly #configuration: client.Configuration;
  readonly #clock: Pick<Clock, 'now'>;
  #token: string;
  #endsAt: number;
  #refreshToken: string | undefined;
  #renewal: Promise<void> | undefined;

  constructor(
    home: string,
    modules: { readonly configuration: client.Configuration; readonly clock: Pick<Clock, 'now'> },
    tokens: Tokens,
  ) {
    this.#home = home;
    this.#configuration = modules.configuration;
    this.#clock = modules.clock;
    this.#token = tokens.id_token ?? '';
    this.#endsAt = (tokens.claims()?.exp ?? 0) * 1000;
    this.#refreshToken = tokens.refresh_token;
  }

  /** With a refresh token the session may outlive the first ID token. */
  get expiresAt(): number | undefined {
    return this.#refreshToken === undefined ? this.#endsAt : undefined;
  }

  async current(): Promise<Credential> {
    if (this.#endsAt - renewBeforeMs <= this.#clock.now()) await this.#renew();
    return { kind: 'token', token: this.#token };
  }

  async end(): Promise<string | undefined> {
    const metadata = this.#configuration.serverMetadata();
    const refreshToken = this.#refreshToken;
    this.#refreshToken = undefined;
    // The session has ended here whether or not the issuer hears of it.
    if (refreshToken !== undefined && metadata.revocation_endpoint !== undefined)
      await client.tokenRevocation(this.#configuration, refreshToken).catch(() => undefined);
    if (metadata.end_session_endpoint === undefined) return undefined;
    return client.buildEndSessionUrl(this.#configuration, {
      id_token_hint: this.#token,
      post_logout_redirect_uri: this.#home,
    }).href;
  }

  async #renew(): Promise<void> {
    const refreshToken = this.#refreshToken;
    if (refreshToken === undefined) {
      if (this.#endsAt <= this.#clock.now()) throw statusErrors.unauthorized();
      return;
    }
    this.#renewal ??= this.#refresh(refreshToken).finally(() => (this.#renewal = undefined));
    await this.#renewal;
  }

  async #refresh(refreshToken: string): Promise<void> {
    try {
      const tokens = await client.refreshTokenGrant(this.#configuration, refreshToken);
      this.#refreshToken = tokens.refresh_token ?? refreshToken;
      if (tokens.id_token === undefined) throw new Error('the issuer renewed no ID token');
      this.#token = tokens.id_token;
      this.#endsAt = (tokens.claims()?.exp ?? 0) * 1000;
    } catch (cause) {
      if (this.#endsAt <= this.#clock.now()) throw Object.assign(statusErrors.unauthorized(), { cause });
      // The token is still valid: the next request tries again.
    }
  }
}
