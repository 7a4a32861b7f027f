import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { parseOptions, silentLogger, type Certificate, type LogFields, type Logger } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { type Answer, sendHttp2Request, sendRequest, writeAndReadAll } from '@multiplane/testing/serving';
import { completeFrontProxyOptions, frontProxyOptionTable } from '../src/options.ts';
import { runFrontProxy } from '../src/server.ts';
import { FakeShard, type Echo } from './fake-shard.ts';

/** Flags for tests that keep this process busy: long timeouts, so that no server is considered dead. */
export const patient: readonly string[] = [
  '--upstream-connect-timeout=20s',
  '--upstream-silence-timeout=20s',
  '--upstream-probe-timeout=20s',
];

/**
 * FOR TESTS: a front-proxy between clients and two fake shards. `root` and `team1` (`root:org:team`) are on shard `root`,
 * `org1` (`root:org`) is on shard `b`.
 */
export class ProxyFixture {
  readonly folder: string;
  readonly servingAuthority: CertificateAuthority;
  readonly clientAuthority: CertificateAuthority;
  readonly proxyAuthority: CertificateAuthority;
  readonly serving: Certificate;
  readonly root: FakeShard;
  readonly b: FakeShard;
  readonly #abort = new AbortController();
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #sockets: TLSSocket[] = [];
  port = 0;
  #running: Promise<void> = Promise.resolve();

  private constructor(parts: Parts) {
    this.folder = parts.folder;
    [this.servingAuthority, this.clientAuthority, this.proxyAuthority] = parts.authorities;
    this.serving = parts.serving;
    this.root = parts.root;
    this.b = parts.b;
  }

  /** `mappings`: added to the one for `/clusters/`; BACKEND in them is shard `b`. Resolves once the proxy is ready, unless `ready` is false. */
  static async start(
    args: readonly string[] = [],
    { mappings = '', ready = true, before = () => undefined }: StartOptions = {},
  ): Promise<ProxyFixture> {
    const authorities = await Promise.all(
      ['serving', 'client', 'requestheader'].map((commonName) => CertificateAuthority.create({ commonName })),
    );
    const [servingAuthority, clientAuthority, proxyAuthority] = authorities as [
      CertificateAuthority,
      CertificateAuthority,
      CertificateAuthority,
    ];
    const folder = await mkdtemp(join(tmpdir(), 'multiplane-front-proxy-'));
    const serving = await servingAuthority.issueServer({
      commonName: 'localhost',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    });
    const clientCa = [clientAuthority.pem.certificatePem, proxyAuthority.pem.certificatePem];
    const [root, b] = await Promise.all(['root', 'b'].map((name) => FakeShard.start(name, { serving, clientCa })));
    const fixture = new ProxyFixture({
      folder,
      authorities: [servingAuthority, clientAuthority, proxyAuthority],
      serving,
      root: root as FakeShard,
      b: b as FakeShard,
    });
    fixture.#putObjects();
    await before(fixture);
    await fixture.#write(mappings);
    await fixture.#run(args, ready);
    return fixture;
  }

  get ca(): string {
    return this.servingAuthority.pem.certificatePem;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    this.#abort.abort(new Error('the test is over'));
    await Promise.all([this.root.stop(), this.b.stop()]);
    await this.#running;
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Stops only the proxy. */
  async end(): Promise<void> {
    this.#abort.abort(new Error('stopped by the test'));
    await this.#running;
  }

  /** TLS options of a client certificate. */
  async identity(user: string, groups: readonly string[] = []): Promise<{ cert: string; key: string }> {
    return tlsPair(await this.clientAuthority.issueClient({ user, groups }));
  }

  /** One request over a connection of its own. */
  ask(path: string, options: RequestOptions = {}, body?: Buffer | string): Promise<Answer> {
    return sendRequest(path, { port: this.port, ca: this.ca, ...options }, body);
  }

  session(identity: { cert?: string; key?: string } = {}): ClientHttp2Session {
    const session = connectHttp2(`https://127.0.0.1:${this.port}`, { ca: this.ca, ...identity });
    session.on('error', () => undefined);
    this.#sessions.push(session);
    return session;
  }

  ask2(session: ClientHttp2Session, headers: Record<string, string | string[]>, body?: Buffer): Promise<Answer> {
    return sendHttp2Request(session, headers, body);
  }

  /** A TLS connection. */
  async socket(identity: { cert?: string; key?: string } = {}): Promise<TLSSocket> {
    const options = { host: '127.0.0.1', port: this.port, ca: this.ca, ALPNProtocols: ['http/1.1'], ...identity };
    const socket = connectTls(options);
    socket.on('error', () => undefined);
    this.#sockets.push(socket);
    await once(socket, 'secureConnect');
    return socket;
  }

  /** Writes text and returns everything that the server sends until it closes the connection. */
  async raw(text: string, identity: { cert?: string; key?: string } = {}): Promise<string> {
    return writeAndReadAll(await this.socket(identity), text);
  }

  #putObjects(): void {
    this.root.putShard('root', { baseURL: this.root.url, virtualWorkspaceURL: this.root.url });
    this.root.putShard('b', { baseURL: this.b.url, virtualWorkspaceURL: `${this.b.url}/vw` });
    this.root.putCluster('root');
    this.root.putCluster('team1');
    this.b.putCluster('org1');
    this.root.putWorkspace('root', 'org', { cluster: 'org1' });
    this.b.putWorkspace('org1', 'team', { cluster: 'team1' });
  }

  async #write(mappings: string): Promise<void> {
    const admin = await this.clientAuthority.issueClient({ user: 'shard-admin', groups: ['system:masters'] });
    const proxy = await this.proxyAuthority.issueClient({ user: 'kcp-front-proxy' });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'shard',
      clusters: [{ name: 'shard', cluster: { server: this.root.url, 'certificate-authority-data': base64(this.ca) } }],
      contexts: [{ name: 'shard', context: { cluster: 'shard', user: 'admin' } }],
      users: [
        {
          name: 'admin',
          user: {
            'client-certificate-data': base64(admin.certificatePem),
            'client-key-data': base64(admin.privateKeyPem),
          },
        },
      ],
    };
    const tls = [
      `  backend_server_ca: ${this.path('serving-ca.crt')}`,
      `  proxy_client_cert: ${this.path('proxy.crt')}`,
      `  proxy_client_key: ${this.path('proxy.key')}`,
    ].join('\n');
    const files: Record<string, string> = {
      'serving-ca.crt': this.ca,
      'client-ca.crt': this.clientAuthority.pem.certificatePem,
      'requestheader-ca.crt': this.proxyAuthority.pem.certificatePem,
      'proxy.crt': proxy.certificatePem,
      'proxy.key': proxy.privateKeyPem,
      'tls.crt': this.serving.certificatePem,
      'tls.key': this.serving.privateKeyPem,
      'shards.kubeconfig': JSON.stringify(kubeconfig),
      'mapping.yaml': `- path: /clusters/\n  backend: https://localhost:1\n${tls}\n${mappings.replaceAll('TLS', tls.trimStart()).replaceAll('BACKEND', this.b.url)}`,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(this.path(name), text);
  }

  async #run(args: readonly string[], ready: boolean): Promise<void> {
    const listening = Promise.withResolvers<number>();
    const logger: Logger = {
      ...silentLogger,
      info: (message: string, fields?: LogFields) => {
        if (message === 'ready') listening.resolve(fields?.['port'] as number);
      },
    };
    const flags: Record<string, string> = {
      'mapping-file': this.path('mapping.yaml'),
      'shards-kubeconfig': this.path('shards.kubeconfig'),
      'tls-cert-file': this.path('tls.crt'),
      'tls-private-key-file': this.path('tls.key'),
      'client-ca-file': this.path('client-ca.crt'),
      'requestheader-client-ca-file': this.path('requestheader-ca.crt'),
      'bind-address': '127.0.0.1',
      'secure-port': '0',
    };
    const all = [...Object.entries(flags).map(([name, value]) => `--${name}=${value}`), ...args];
    const { values } = parseOptions(frontProxyOptionTable, { args: all });
    const options = completeFrontProxyOptions(values);
    this.#running = runFrontProxy(options, { logger, signal: this.#abort.signal, version: 'test' });
    this.#running.catch((error: unknown) => listening.reject(error));
    this.port = await listening.promise;
    if (!ready) return;
    // Without a delay: every attempt takes a round trip.
    for (;;) if ((await this.ask('/readyz')).status === 200) return;
  }
}

interface StartOptions {
  readonly mappings?: string;
  readonly ready?: boolean;
  /** Runs before the proxy starts. */
  readonly before?: (fixture: ProxyFixture) => void | Promise<void>;
}

interface Parts {
  readonly folder: string;
  readonly authorities: readonly [CertificateAuthority, CertificateAuthority, CertificateAuthority];
  readonly serving: Certificate;
  readonly root: FakeShard;
  readonly b: FakeShard;
}

export const tlsPair = ({ certificatePem, privateKeyPem }: Certificate): { cert: string; key: string } => ({
  cert: certificatePem,
  key: privateKeyPem,
});

/** The request that a fake shard received. */
export const echoOf = ({ body }: Answer): Echo => JSON.parse(body.toString()) as Echo;
