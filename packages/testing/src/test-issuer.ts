import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@multiplane/apimachinery';
import { testCertificates } from './certificates.ts';

/** A local OpenID Connect issuer with one key, which signs any claims. */
export class TestIssuer {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #server: Server;
  /** CA of the issuer (PEM). */
  readonly ca: string;
  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.ca = ca;
    server.on('request', ({ url }: { url: string }, response: { end(text: string): void }) =>
      response.end(
        JSON.stringify(
          url === '/keys'
            ? { keys: [{ kid: 'k', alg: 'ES256', use: 'sig', ...this.#keys.publicKey.export({ format: 'jwk' }) }] }
            : { issuer: this.url, jwks_uri: `${this.url}/keys` },
        ),
      ),
    );
  }
  static async start(): Promise<TestIssuer> {
    const { server: files, authorityPem } = await testCertificates();
    const server = createServer({ cert: files.certificatePem, key: files.privateKeyPem });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TestIssuer(server, authorityPem);
  }
  /** The `iss` claim of tokens. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  /** A token with these claims, valid for ten minutes. */
  token(claims: JsonObject): string {
    const part = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const exp = Math.floor(Date.now() / 1000) + 600;
    const signed = `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: this.url, exp, ...claims })}`;
    const signature = sign('sha256', Buffer.from(signed), {
      key: this.#keys.privateKey,
      dsaEncoding: 'ieee-p1363',
    });
    return `${signed}.${signature.toString('base64url')}`;
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
