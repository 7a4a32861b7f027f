import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CertificateAuthority } from '@multiplane/component-base/pki';

/** A request to the webhook. */
export interface ReceivedCall {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Handles a call: the result is sent as JSON; undefined: the handler wrote the response itself. */
export type WebhookAnswer = (call: ReceivedCall, response: ServerResponse) => unknown;

/** FOR TESTS: a webhook server with a certificate of its own CA. */
export class WebhookServer {
  readonly ca: string;
  readonly calls: ReceivedCall[] = [];
  /** Number of accepted connections. */
  connections = 0;
  readonly port: number;
  readonly #server: Server;
  answer: WebhookAnswer;

  private constructor(server: Server, ca: string, answer: WebhookAnswer) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.ca = ca;
    this.answer = answer;
    server.on('secureConnection', () => this.connections++);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response));
  }

  static async start(answer: WebhookAnswer = () => ({})): Promise<WebhookServer> {
    const authority = await CertificateAuthority.create({ commonName: 'webhook authority' });
    const serving = await authority.issueServer({
      commonName: 'localhost',
      dnsNames: ['localhost', 'hook.example.com'],
      ipAddresses: ['127.0.0.1'],
    });
    const server = createServer({ cert: serving.certificatePem, key: serving.privateKeyPem });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookServer(server, authority.pem.certificatePem, answer);
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const call = { url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
    this.calls.push(call);
    const answer = await this.answer(call, response);
    if (answer === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  }
}
