import { writeFile } from 'node:fs/promises';
import { asLogicalClusterName, type Json, type JsonObject } from '@multiplane/apimachinery';
import { type ClientConfig, RestTransport } from '@multiplane/client';
import { createLogger, parseOptions } from '@multiplane/component-base';
import { cacheKey, type Storage } from '@multiplane/storage';
import { openJetStreamStorage } from '@multiplane/storage/jetstream';
import {
  eventually,
  freePorts,
  NatsServer,
  TcpProxy,
  TempDir,
  testCertificates,
  type TestCertificates,
  createWithRetry,
} from '@multiplane/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { cacheServerOptionTable, completeCacheServerOptions } from './options.ts';
import { runCacheServer } from './server.ts';

const exportsPath = '/apis/apis.kcp.io/v1alpha2/apiexports';
const at = (shard: string, cluster: string): string => `/shards/${shard}/clusters/${cluster}${exportsPath}`;

let nats: NatsServer;
let folder: TempDir;
let certificates: TestCertificates;
let masters: Partial<ClientConfig>;
let unprivileged: Partial<ClientConfig>;
let streams = 0;

beforeAll(async () => {
  [nats, folder, certificates] = await Promise.all([
    NatsServer.start(),
    TempDir.create('cache-server'),
    testCertificates(),
  ]);
  await writeFile(folder.join('ca.crt'), certificates.authorityPem);
  const pair = async (user: string, groups: readonly string[]): Promise<Partial<ClientConfig>> => {
    const { certificatePem, privateKeyPem } = await certificates.client(user, groups);
    return { certificate: certificatePem, key: privateKeyPem };
  };
  masters = await pair('shard-root', ['system:masters']);
  unprivileged = await pair('user-1', ['team']);
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await folder.remove();
});

/** A cache server in this process, on a port of its own. */
class RunningServer implements AsyncDisposable {
  readonly url: string;
  readonly #abort: AbortController;
  readonly #running: Promise<void>;
  readonly #transports: RestTransport[] = [];

  private constructor(url: string, abort: AbortController, running: Promise<void>) {
    this.url = url;
    this.#abort = abort;
    this.#running = running;
  }

  static async start(
    stream: string,
    {
      port: natsPort = nats.port,
      until = '/readyz',
      write = () => undefined,
    }: {
      /** Port of NATS, or of a proxy in front of it. */
      readonly port?: number;
      /** The health path that must succeed before the server counts as started. */
      readonly until?: string;
      readonly write?: (line: string) => unknown;
    } = {},
  ): Promise<RunningServer> {
    const [port] = await freePorts(1);
    const args = [
      `--root-directory=${folder.join(`server-${port}`)}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--client-ca-file=${folder.join('ca.crt')}`,
      `--nats-servers=nats://127.0.0.1:${natsPort}`,
      `--nats-stream=${stream}`,
      `--nats-subject-prefix=${stream}`,
    ];
    const options = completeCacheServerOptions(parseOptions(cacheServerOptionTable, { args }).values);
    const abort = new AbortController();
    const logger = createLogger({ level: 'info', format: 'text' }, { write: (line) => void write(line) });
    const running = runCacheServer(options, { logger, signal: abort.signal, version: 'test' });
    const server = new RunningServer(`https://127.0.0.1:${port}`, abort, running);
    await server.waitFor(until);
    return server;
  }

  /** Waits until a health path returns 200. */
  async waitFor(page: string): Promise<void> {
    const ready = eventually(async () => {
      const { status, text } = await this.get(`${page}?verbose`, {});
      if (status !== 200) throw new Error(`${page} answered ${status}: ${text}`);
    });
    await Promise.race([ready, this.#running]);
  }

  transport(user: Partial<ClientConfig>): RestTransport {
    const transport = new RestTransport({ config: { server: this.url, insecure: true, ...user } });
    this.#transports.push(transport);
    return transport;
  }

  async get(
    path: string,
    user = masters,
  ): Promise<{ readonly status: number; readonly text: string; readonly retryAfter: string | undefined }> {
    const transport = this.transport(user);
    const response = await transport.open({ method: 'GET', path });
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    transport.close();
    return { status: response.statusCode ?? 0, text, retryAfter: response.headers['retry-after'] };
  }

  async names(shard = '*', cluster = '*'): Promise<string[]> {
    const { items } = JSON.parse((await this.get(at(shard, cluster))).text) as { items: JsonObject[] };
    return items.map((item) => (item['metadata'] as { name: string }).name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) transport.close();
    this.#abort.abort();
    await this.#running;
  }
}

async function openPublisher(): Promise<{ readonly stream: string; readonly publisher: Storage }> {
  const stream = `cache-${streams++}`;
  const target = { servers: [nats.url], stream, subjectPrefix: stream, sweepIntervalMs: 0 };
  return { stream, publisher: await openJetStreamStorage(target) };
}

function keyOf(shard: string, cluster: string, name: string): string {
  const location = { shard, cluster: asLogicalClusterName(cluster), namespace: '', name };
  return cacheKey({ group: 'apis.kcp.io', resource: 'apiexports' }, location);
}

/** An object as a shard publishes it. */
function publishedObject(shard: string, cluster: string, name: string, spec: Json = {}): Buffer {
  const annotations = { 'kcp.io/cluster': cluster, 'kcp.io/shard': shard };
  const metadata = { name, uid: `uid-${name}`, generation: 3, annotations };
  return Buffer.from(JSON.stringify({ kind: 'APIExport', apiVersion: 'apis.kcp.io/v1alpha2', metadata, spec }));
}

describe('a cache server over NATS', () => {
  test('serves published objects to system:masters and denies others', async () => {
    const { stream, publisher } = await openPublisher();
    await publisher.create(keyOf('s1', 'one', 'a'), publishedObject('s1', 'one', 'a'));
    await using server = await RunningServer.start(stream);
    await publisher.create(keyOf('s2', 'two', 'b'), publishedObject('s2', 'two', 'b'));
    expect(await server.names()).toEqual(['a', 'b']);
    expect(await server.names('s2', 'two')).toEqual(['b']);
    expect(await server.names('*', 'one')).toEqual(['a']);
    expect((await server.get(`/services/cache${at('s1', 'one')}/a`)).status).toBe(200);
    for (const user of [{}, unprivileged]) {
      for (const path of [
        at('*', '*'),
        `${at('s1', 'one')}/a`,
        '/metrics',
        '/version',
        `/services/cache${at('*', '*')}`,
      ])
        expect([path, (await server.get(path, user)).status]).toEqual([path, path === '/version' ? 400 : 403]);
      expect((await server.get('/livez', user)).status).toBe(200);
    }
    const { text } = await server.get('/metrics');
    expect(text).toContain('kubernetes_build_info');
    await publisher.close();
  });

  test('listens without NATS, reports it on /readyz, and returns 503 until the objects are loaded', async () => {
    await using proxy = await TcpProxy.start(nats.port);
    proxy.refuse();
    const lines: string[] = [];
    await using server = await RunningServer.start(`late-${streams++}`, {
      port: proxy.port,
      until: '/livez',
      write: (line) => lines.push(line),
    });
    const { status, text } = await server.get('/readyz');
    expect([status, text.split('\n').filter((line) => line.startsWith('[-]'))]).toEqual([
      500,
      [
        '[-]nats failed: reason withheld',
        '[-]cache-sync failed: reason withheld',
        '[-]startup failed: reason withheld',
      ],
    ]);
    for (const path of [
      at('*', '*'),
      `${at('*', '*')}?watch=true`,
      `${at('s', 'c')}/a`,
      `/services/cache${at('*', '*')}`,
    ]) {
      const answer = await server.get(path);
      expect([path, answer.status, answer.retryAfter]).toEqual([path, 503, '1']);
      expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
    }
    expect((await server.get(at('*', '*'), unprivileged)).status).toBe(403);
    expect((await server.get('/livez')).text).toBe('ok');
    expect(lines.join('')).toMatch(/WARN.*cached object watch cache failed[^]*failed to connect to NATS/i);
    expect(lines.some((line) => line.includes(' ready '))).toBe(false);

    proxy.accept();
    await server.waitFor('/readyz');
    expect(lines.some((line) => line.includes(' ready '))).toBe(true);
    expect(await server.names()).toEqual([]);
  });

  test('shuts down while it is still loading', async () => {
    await using proxy = await TcpProxy.start(nats.port);
    proxy.pause();
    const server = await RunningServer.start(`late-${streams++}`, { port: proxy.port, until: '/livez' });
    await expect(server[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });

  test('several instances serve acknowledged writes immediately and share resource versions', async () => {
    const { stream, publisher } = await openPublisher();
    await using first = await RunningServer.start(stream);
    await using second = await RunningServer.start(stream);
    for (let i = 0; i < 10; i++) {
      const revision = await publisher.create(keyOf('s', 'c', `o${i}`), publishedObject('s', 'c', `o${i}`));
      for (const server of [first, second]) {
        const { text } = await server.get(`${at('s', 'c')}/o${i}`);
        expect(JSON.parse(text)).toMatchObject({ metadata: { resourceVersion: String(revision) } });
      }
    }
    // A list of one instance is continued at the other.
    const { text } = await first.get(`${at('*', '*')}?limit=4`);
    const { metadata } = JSON.parse(text) as { metadata: { continue: string; resourceVersion: string } };
    const rest = await second.get(`${at('*', '*')}?limit=10&continue=${encodeURIComponent(metadata.continue)}`);
    expect((JSON.parse(rest.text) as { items: Json[] }).items).toHaveLength(6);
    await publisher.close();
  });

  test('a watch survives a NATS restart: every object once, in order', async () => {
    const { stream, publisher } = await openPublisher();
    await using server = await RunningServer.start(stream);
    const watch = await Watch.open(server, `${at('*', '*')}?watch=true`);
    await publisher.create(keyOf('s', 'c', 'before'), publishedObject('s', 'c', 'before'));
    await eventually(() => expect(watch.events).toEqual(['ADDED before']));
    await nats.process.kill();
    await nats.process.start();
    await createWithRetry(() => publisher.create(keyOf('s', 'c', 'after'), publishedObject('s', 'c', 'after')));
    await eventually(() => expect(watch.events).toEqual(['ADDED before', 'ADDED after']));
    watch.close();
    await publisher.close();
  });

  test('after the loss of the stream watches end, old versions return 410, and republished objects are served', async () => {
    const { stream, publisher } = await openPublisher();
    await using server = await RunningServer.start(stream);
    await publisher.create(keyOf('s', 'c', 'lost'), publishedObject('s', 'c', 'lost'));
    const { text } = await server.get(at('*', '*'));
    const { metadata } = JSON.parse(text) as { metadata: { resourceVersion: string } };
    const watch = await Watch.open(server, `${at('*', '*')}?watch=true&resourceVersion=${metadata.resourceVersion}`);

    await nats.loseStream(stream);
    await createWithRetry(() => publisher.create(keyOf('s', 'c', 'back'), publishedObject('s', 'c', 'back')));

    await eventually(() => expect(watch.ended).toBe(true));
    await eventually(async () => expect(await server.names()).toEqual(['back']));
    const late = await Watch.open(server, `${at('*', '*')}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await eventually(() => expect(late.events).toEqual(['ERROR 410']));
    const exact = await server.get(
      `${at('*', '*')}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`,
    );
    expect(exact.status).toBe(410);
    watch.close();
    late.close();
    await publisher.close();
  });
});

/** A watch of a client. */
class Watch {
  readonly events: string[] = [];
  ended = false;
  readonly #abort: AbortController;

  private constructor(abort: AbortController) {
    this.#abort = abort;
  }

  static async open(server: RunningServer, path: string): Promise<Watch> {
    const abort = new AbortController();
    const watch = new Watch(abort);
    const response = await server
      .transport(masters)
      .open({ method: 'GET', path, longRunning: true, signal: abort.signal });
    let text = '';
    response.on('data', (chunk: Buffer) => {
      const lines = (text + chunk.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as {
          type: string;
          object: { metadata?: { name?: string }; code?: number };
        };
        watch.events.push(`${type} ${type === 'ERROR' ? object.code : object.metadata?.name}`);
      }
    });
    for (const event of ['end', 'error', 'close']) response.on(event, () => (watch.ended = true));
    return watch;
  }

  close(): void {
    this.#abort.abort();
  }
}
