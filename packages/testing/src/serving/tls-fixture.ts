import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { RequestOptions } from 'node:https';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Certificate, Clock } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import {
  type BaseExchange,
  ClientDisconnectedError,
  ConnectionTable,
  defaultHttpServerOptions,
  HttpServer,
  type HttpServerModules,
  type HttpServerOptions,
} from '@multiplane/generic-server';
import { type Answer, sendHttp2Request, sendRequest, writeAndReadAll } from './https-requests.ts';

/** A handler that responds with the protocol, method, URL and body of the request. */
export async function echo(exchange: BaseExchange): Promise<void> {
  const body = await exchange.readBody(1000);
  exchange.setHeader('content-type', 'text/plain');
  exchange.respond(200, `${exchange.httpVersion} ${exchange.method} ${exchange.url} ${body.toString()}`);
}

/** FOR TESTS: listeners with certificates of their own CA, and clients of both protocols. */
export class TlsFixture {
  readonly authority: CertificateAuthority;
  readonly serving: Certificate;
  readonly client: Certificate;
  readonly #cleanUps: (() => Promise<void> | void)[] = [];

  private constructor(authority: CertificateAuthority, serving: Certificate, client: Certificate) {
    this.authority = authority;
    this.serving = serving;
    this.client = client;
  }

  static async create(): Promise<TlsFixture> {
    const authority = await CertificateAuthority.create({ commonName: 'test' });
    return new TlsFixture(
      authority,
      await authority.issueServer({ commonName: 'localhost', ipAddresses: ['127.0.0.1'] }),
      await authority.issueClient({ user: 'alice', groups: ['team'] }),
    );
  }

  get ca(): string {
    return this.authority.pem.certificatePem;
  }

  /** Stops all servers and closes all connections of the last test. */
  async cleanUp(): Promise<void> {
    for (const cleanUp of this.#cleanUps.splice(0).toReversed()) await cleanUp();
  }

  async serve(
    handle: HttpServerModules['handle'],
    options: Partial<HttpServerOptions> = {},
    connections: ConnectionTable = new ConnectionTable({
      beforeAuthentication: 100,
      beforeAuthenticationPerSource: 100,
      perUser: 1000,
      total: 100,
    }),
    clock?: Clock,
  ): Promise<HttpServer> {
    const server = new HttpServer(
      {
        ...defaultHttpServerOptions,
        host: '127.0.0.1',
        port: 0,
        stopGraceMs: 200,
        ...this.serving,
        clientCa: this.ca,
        ...options,
      },
      { connections, handle, ...(clock === undefined ? {} : { clock }) },
    );
    await server.start();
    this.#cleanUps.push(() => server.stop());
    return server;
  }

  /** {@link serve}, but errors of the handler after a disconnect of the client are ignored. */
  answer(
    handle: (exchange: BaseExchange) => Promise<void> | void,
    options?: Partial<HttpServerOptions>,
    connections?: ConnectionTable,
    clock?: Clock,
  ): Promise<HttpServer> {
    return this.serve(
      async (exchange) => {
        try {
          await handle(exchange);
        } catch (error) {
          if (!(error instanceof ClientDisconnectedError)) throw error;
        }
      },
      options,
      connections,
      clock,
    );
  }

  /** One request on a new connection. */
  ask1(server: HttpServer, path: string, options: RequestOptions = {}, body?: Buffer | string): Promise<Answer> {
    return sendRequest(path, { port: server.port, ca: this.ca, ...options }, body);
  }

  session2(server: HttpServer, identity?: Certificate): ClientHttp2Session {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
      ca: this.ca,
      ...(identity === undefined ? {} : { cert: identity.certificatePem, key: identity.privateKeyPem }),
    });
    session.on('error', () => undefined);
    this.#cleanUps.push(() => session.destroy());
    return session;
  }

  ask2(session: ClientHttp2Session, headers: Record<string, string | string[]>, body?: Buffer): Promise<Answer> {
    return sendHttp2Request(session, headers, body);
  }

  async socket(server: HttpServer, protocol = 'http/1.1'): Promise<TLSSocket> {
    const socket = connectTls({ host: '127.0.0.1', port: server.port, ca: this.ca, ALPNProtocols: [protocol] });
    socket.on('error', () => undefined);
    this.#cleanUps.push(() => {
      socket.destroy();
    });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** Writes text and returns everything that the server sends until it closes the connection. */
  async raw(server: HttpServer, text: string): Promise<string> {
    return writeAndReadAll(await this.socket(server), text);
  }
}
