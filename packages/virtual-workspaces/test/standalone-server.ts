import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mastersGroup, type JsonObject, type KubeObject, type UserInfo } from '@multiplane/apimachinery';
import { parseOptions, silentLogger, type LogFields, type Logger } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { type BaseExchange, ConnectionTable, defaultHttpServerOptions, HttpServer } from '@multiplane/generic-server';
import { eventually } from '@multiplane/testing';
import type { BufferedRequest } from '@multiplane/generic-server';
import type { HostResponse, VirtualWorkspaceHost } from './virtual-workspace-host.ts';
import { completeVirtualWorkspacesOptions, virtualWorkspacesOptionTable } from '../src/options.ts';
import { runVirtualWorkspaces } from '../src/server.ts';
import type { FakeShard, OpenStream } from './fake-shard.ts';

/**
 * Lists and watches of informers: across all shards in the cache, of this shard's bindings, of one logical cluster's.
 */
const informerPath =
  /^(?:\/services\/cache\/shards\/\*)?\/clusters\/([^/]+)\/apis\/[^/]+\/[^/]+\/(apiexports|apiresourceschemas|apibindings|workspacetypes|cachedresources|cachedresourceendpointslices|apiexportscopes)$/;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * FOR TESTS: the virtual workspaces server, connected to a fake shard over mTLS. Clients authenticate with tokens,
 * which the shard reviews.
 */
export class StandaloneServer implements VirtualWorkspaceHost {
  readonly shard: FakeShard;
  readonly #folder: string;
  readonly #authority: CertificateAuthority;
  readonly #connections = new ConnectionTable({
    beforeAuthentication: 1000,
    beforeAuthenticationPerSource: 1000,
    perUser: 1000,
    total: 1000,
  });
  readonly #abort = new AbortController();
  readonly #clients = new AbortController();
  #server: HttpServer | undefined;
  #running: Promise<void> = Promise.resolve();
  #port = 0;
  #version = 100;

  private constructor(shard: FakeShard, folder: string, authority: CertificateAuthority) {
    this.shard = shard;
    this.#folder = folder;
    this.#authority = authority;
  }

  static async start(shard: FakeShard): Promise<StandaloneServer> {
    const authority = await CertificateAuthority.create({ commonName: 'views' });
    const views = new StandaloneServer(shard, await mkdtemp(join(tmpdir(), 'multiplane-views-')), authority);
    await views.#start();
    return views;
  }

  async send(
    url: string,
    { method = 'GET', headers = {}, body }: Partial<BufferedRequest> = {},
  ): Promise<HostResponse> {
    const response = await this.#request(method, url, headers, body);
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
  }

  open(url: string): OpenStream {
    const client = new AbortController();
    const state = { text: '', started: false, ended: false };
    const handled = (async (): Promise<void> => {
      const signal = AbortSignal.any([client.signal, this.#clients.signal]);
      try {
        const response = await this.#request('GET', url, {}, undefined, signal);
        state.started = true;
        for await (const chunk of response as AsyncIterable<Buffer>) state.text += chunk.toString();
        state.ended = true;
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    })();
    handled.catch(() => undefined);
    return {
      get events() {
        const lines = state.text.split('\n').filter((line) => line !== '');
        return lines.map((line) => JSON.parse(line) as OpenStream['events'][number]);
      },
      get started() {
        return state.started;
      },
      get ended() {
        return state.ended;
      },
      abort: () => client.abort(),
      handled,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#clients.abort();
    this.#abort.abort(new Error('the test has finished'));
    const stopped = this.#server?.stop();
    this.#connections.destroyAll();
    await Promise.all([stopped, this.#running]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #request(
    method: string,
    path: string,
    headers: Readonly<Record<string, string | undefined>>,
    body?: Buffer | string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { caller } = this.shard;
    const token = caller === undefined ? 'unknown' : base64(JSON.stringify(caller));
    const given: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) given[name] = value;
    // Node sets no content-length for the body of a DELETE.
    if (body !== undefined) given['content-length'] = String(Buffer.byteLength(body));
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port: this.#port,
          path,
          method,
          ca: this.#authority.pem.certificatePem,
          agent: false,
          headers: { ...given, authorization: `Bearer ${token}` },
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      );
      request.on('error', reject);
      request.end(body);
    });
  }

  async #start(): Promise<void> {
    const serving = await this.#authority.issueServer({
      commonName: 'localhost',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
    });
    const ca = this.#authority.pem.certificatePem;
    this.#server = new HttpServer(
      { ...defaultHttpServerOptions, host: '127.0.0.1', port: 0, stopGraceMs: 1, ...serving, clientCa: [ca] },
      { connections: this.#connections, handle: (exchange) => this.#handle(exchange) },
    );
    await this.#server.start();
    const client = await this.#authority.issueClient({ user: 'virtual-workspaces', groups: [mastersGroup] });
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'shard',
      clusters: [
        {
          name: 'shard',
          cluster: {
            server: `https://127.0.0.1:${this.#server.port}`,
            'certificate-authority-data': base64(ca),
          },
        },
      ],
      contexts: [{ name: 'shard', context: { cluster: 'shard', user: 'views' } }],
      users: [
        {
          name: 'views',
          user: {
            'client-certificate-data': base64(client.certificatePem),
            'client-key-data': base64(client.privateKeyPem),
          },
        },
      ],
    };
    const files = {
      'shard.kubeconfig': JSON.stringify(kubeconfig),
      'tls.crt': serving.certificatePem,
      'tls.key': serving.privateKeyPem,
    };
    const pathOf = (name: keyof typeof files): string => join(this.#folder, name);
    for (const [name, text] of Object.entries(files)) await writeFile(pathOf(name as keyof typeof files), text);
    const listening = Promise.withResolvers<number>();
    const logger: Logger = {
      ...silentLogger,
      info: (message: string, fields?: LogFields) => {
        if (message === 'ready') listening.resolve(fields?.['port'] as number);
      },
    };
    const args = [
      `--kubeconfig=${pathOf('shard.kubeconfig')}`,
      `--tls-cert-file=${pathOf('tls.crt')}`,
      `--tls-private-key-file=${pathOf('tls.key')}`,
      '--bind-address=127.0.0.1',
      '--secure-port=0',
    ];
    const options = completeVirtualWorkspacesOptions(parseOptions(virtualWorkspacesOptionTable, { args }).values);
    this.#running = runVirtualWorkspaces(options, { logger, signal: this.#abort.signal, version: 'test' });
    this.#running.catch((error: unknown) => listening.reject(error));
    this.#port = await listening.promise;
    await eventually(
      async () => {
        const { status, text } = await this.send('/readyz?verbose');
        if (status !== 200) throw new Error(text);
      },
      { timeout: 15_000 },
    );
  }

  /** The shard: certificate check, cache and token reviews; other requests go to the fake shard. */
  async #handle(exchange: BaseExchange): Promise<void> {
    const { method, url, headers } = exchange;
    if (exchange.socket.getPeerX509Certificate() === undefined) return exchange.respond(401, '');
    const { pathname, searchParams } = new URL(url, 'https://shard');
    exchange.setHeader('content-type', 'application/json');
    if (pathname === '/version') return exchange.respond(200, '{}');
    if (pathname.endsWith('/tokenreviews')) return this.#review(exchange);
    const isServerItself = headers['impersonate-user'] === undefined;
    const [, cluster, resource] = informerPath.exec(pathname) ?? [];
    if (isServerItself && method === 'GET' && resource !== undefined && cluster !== undefined) {
      if (searchParams.has('sendInitialEvents') || searchParams.has('resourceVersion'))
        return this.#follow(exchange, resource);
      if (cluster !== '*') {
        const items = this.shard.informer({ resource }).list({ cluster: cluster as never });
        return exchange.respond(200, JSON.stringify({ kind: 'List', metadata: {}, items }));
      }
    }
    await this.shard.dispatch(exchange, isServerItself ? self : impersonated(headers), url);
  }

  async #review(exchange: BaseExchange): Promise<void> {
    const { spec } = JSON.parse((await exchange.readBody(1_000_000)).toString()) as { spec: { token: string } };
    exchange.respond(201, JSON.stringify({ kind: 'TokenReview', metadata: {}, spec, status: statusOf(spec.token) }));
  }

  #follow(exchange: BaseExchange, resource: string): void {
    exchange.start(200);
    const sendEvent = (type: string, { metadata, ...object }: KubeObject): void => {
      const versioned = { ...object, metadata: { ...metadata, resourceVersion: String(++this.#version) } };
      exchange.write(Buffer.from(`${JSON.stringify({ type, object: versioned })}\n`));
    };
    const stop = this.shard.informer({ resource }).addHandlers({
      added: (object) => sendEvent('ADDED', object as KubeObject),
      updated: (object) => sendEvent('MODIFIED', object as KubeObject),
      deleted: (object) => sendEvent('DELETED', object as KubeObject),
    });
    sendEvent('BOOKMARK', {
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    } as unknown as KubeObject);
    exchange.signal.addEventListener('abort', stop);
  }
}

const self: UserInfo = { name: 'virtual-workspaces', uid: '', groups: [mastersGroup], extra: {} };

function statusOf(token: string): JsonObject {
  if (token === 'unknown') return { authenticated: false, error: '[invalid bearer token]' };
  const { name, uid, groups, extra } = JSON.parse(Buffer.from(token, 'base64').toString()) as UserInfo;
  return { authenticated: true, user: { username: name, uid, groups: [...groups], extra: extra as JsonObject } };
}

function impersonated(headers: BaseExchange['headers']): UserInfo {
  const all = (name: string): string[] => [headers[name] ?? []].flat();
  const extraPrefix = 'impersonate-extra-';
  const extras = Object.keys(headers).filter((name) => name.startsWith(extraPrefix));
  return {
    name: all('impersonate-user')[0] ?? '',
    uid: all('impersonate-uid')[0] ?? '',
    groups: all('impersonate-group'),
    extra: Object.fromEntries(extras.map((name) => [decodeURIComponent(name.slice(extraPrefix.length)), all(name)])),
  };
}
