import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { exportJWK, SignJWT, type JWTPayload } from 'jose';
import { WebhookServer } from './webhook-server.ts';

/** FOR TESTS: an OpenID Connect issuer with rotatable keys. */
export class OidcIssuer {
  readonly server: WebhookServer;
  #keys: { readonly id: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject }[] = [];
  /** `issuer` of the discovery document; default: {@link url}. */
  claimedUrl: string;
  /** `jwks_uri` of the discovery document; default: the key set of this server. */
  keysUrl: string;
  /** A path that is redirected. */
  moved: { readonly path: string; readonly to: string } | undefined;
  broken = false;

  private constructor(server: WebhookServer) {
    this.server = server;
    this.claimedUrl = server.url;
    this.keysUrl = `${server.url}/keys`;
    this.rotate('first');
    server.answer = async ({ url }, response) => {
      if (this.broken) {
        response.writeHead(500).end('broken');
        return undefined;
      }
      if (url === this.moved?.path) {
        response.writeHead(302, { location: this.moved.to }).end();
        return undefined;
      }
      if (url === '/.well-known/openid-configuration') return { issuer: this.claimedUrl, jwks_uri: this.keysUrl };
      return {
        keys: await Promise.all(
          this.#keys.map(async ({ id, publicKey }) => ({
            kid: id,
            use: 'sig',
            alg: 'ES256',
            ...(await exportJWK(publicKey)),
          })),
        ),
      };
    };
  }

  static async start(): Promise<OidcIssuer> {
    return new OidcIssuer(await WebhookServer.start());
  }

  get url(): string {
    return this.server.url;
  }
  get ca(): string {
    return this.server.ca;
  }
  /** Number of requests for the key set. */
  get keyFetches(): number {
    return this.server.calls.filter(({ url }) => url === '/keys').length;
  }

  /** Replaces the signing key; only the new one is published. */
  rotate(id: string): void {
    this.#keys = [{ id, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }];
  }

  /** A token for audience `a`, valid for an hour. `claims` override the defaults; undefined ones are omitted. */
  token(
    claims: { readonly [name in keyof JWTPayload]: JWTPayload[name] | undefined },
    now: number,
    header: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const [key] = this.#keys;
    if (key === undefined) throw new TypeError('the issuer has no key');
    const seconds = Math.floor(now / 1000);
    const payload = { iss: this.url, aud: 'a', sub: 'ann', iat: seconds, exp: seconds + 3600, ...claims } as JWTPayload;
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: key.id, ...header }).sign(key.privateKey);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
