import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { WebhookServer, type ReceivedCall } from '@multiplane/testing/serving';

interface Grant {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

/** A whole OpenID Connect provider, whose user `sam` agrees to everything: code flow with PKCE, rotating refresh tokens, log-out. */
export class OidcProvider implements AsyncDisposable {
  readonly server: WebhookServer;
  readonly clientId = 'console';
  readonly clientSecret = randomUUID();
  /** Seconds that an ID token is valid. */
  lifetime = 3_600;
  readonly revoked: string[] = [];
  /** Number of grants by a refresh token. */
  refreshed = 0;
  readonly #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly #codes = new Map<string, Grant>();
  readonly #refreshTokens = new Set<string>();

  private constructor(server: WebhookServer) {
    this.server = server;
    this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    server.answer = (call, response) => this.#answer(call, response);
  }

  static async start(): Promise<OidcProvider> {
    return new OidcProvider(await WebhookServer.start());
  }

  get url(): string {
    return this.server.url;
  }
  get ca(): string {
    return this.server.ca;
  }

  #answer({ url, body, headers }: ReceivedCall, response: ServerResponse): unknown {
    const { pathname, searchParams } = new URL(url, this.url);
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return {
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          jwks_uri: `${this.url}/keys`,
          revocation_endpoint: `${this.url}/revoke`,
          end_session_endpoint: `${this.url}/end`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['ES256'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
          code_challenge_methods_supported: ['S256'],
        };
      case '/keys':
        return { keys: [{ ...this.#keys.publicKey.export({ format: 'jwk' }), kid: '1', use: 'sig', alg: 'ES256' }] };
      case '/authorize':
        return this.#authorize(searchParams, response);
      case '/token':
        return this.#token(new URLSearchParams(body.toString()), headers.authorization, response);
      case '/revoke':
        this.revoked.push(new URLSearchParams(body.toString()).get('token') ?? '');
        return {};
      default:
        response.writeHead(404).end();
        return undefined;
    }
  }

  #authorize(query: URLSearchParams, response: ServerResponse): undefined {
    const code = randomUUID();
    const redirectUri = query.get('redirect_uri') ?? '';
    this.#codes.set(code, {
      redirectUri,
      nonce: query.get('nonce') ?? '',
      challenge: query.get('code_challenge_method') === 'S256' ? (query.get('code_challenge') ?? '') : '',
    });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
    return undefined;
  }

  #token(form: URLSearchParams, authorization: string | undefined, response: ServerResponse): unknown {
    const refuse = (error: string): undefined => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      return undefined;
    };
    const basic = `Basic ${Buffer.from(`${this.clientId}:${this.clientSecret}`).toString('base64')}`;
    if (form.get('client_secret') !== this.clientSecret && authorization !== basic) return refuse('invalid_client');
    if (form.get('grant_type') === 'refresh_token') {
      const token = form.get('refresh_token') ?? '';
      if (!this.#refreshTokens.delete(token)) return refuse('invalid_grant');
      this.refreshed++;
      return this.#tokens(undefined);
    }
    const code = form.get('code') ?? '';
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (grant === undefined || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return refuse('invalid_grant');
    return this.#tokens(grant.nonce);
  }

  #tokens(nonce: string | undefined): object {
    const refreshToken = randomUUID();
    this.#refreshTokens.add(refreshToken);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.url,
      aud: this.clientId,
      sub: 'sam',
      iat: now,
      exp: now + this.lifetime,
      jti: randomUUID(),
      ...(nonce === undefined ? {} : { nonce }),
    };
    const text = [{ alg: 'ES256', kid: '1' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const signature = sign('sha256', Buffer.from(text), { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' });
    return {
      access_token: randomUUID(),
      token_type: 'Bearer',
      expires_in: this.lifetime,
      id_token: `${text}.${signature.toString('base64url')}`,
      refresh_token: refreshToken,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
  }
}
