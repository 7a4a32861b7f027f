import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificates } from '@multiplane/testing';

/** Flags of a control plane that may call one: they listen on this machine. */
export const webhooksHere = ['--webhook-allowed-networks=127.0.0.0/8'];

/** A webhook of a tenant, as a server of its own; what it answers is up to the test. */
export class WebhookServer implements AsyncDisposable {
  readonly #server: Server;
  readonly url: string;
  /** Verifies it, as configurations of webhooks want it. */
  readonly caBundle: string;

  private constructor(server: Server, authority: string) {
    this.#server = server;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/review`;
    this.caBundle = Buffer.from(authority).toString('base64');
  }

  static async start<Review>(name: string, answer: (review: Review) => object): Promise<WebhookServer> {
    const { authorityPem, server: serving } = await testCertificates(name);
    const server = createServer({ cert: serving.certificatePem, key: serving.privateKeyPem }, (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => response.end(JSON.stringify(answer(JSON.parse(text) as Review))));
      response.setHeader('content-type', 'application/json');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookServer(server, authorityPem);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
