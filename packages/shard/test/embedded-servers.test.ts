import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EmbedServer } from '@multiplane/apiserver';
import { parseOptions, silentLogger } from '@multiplane/component-base';
import type { BaseExchange } from '@multiplane/generic-server';
import { TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { EmbeddedServers } from '../src/embedded-servers.ts';
import { completeShardOptions, shardOptionTable } from '../src/options.ts';
import { runShard } from '../src/server.ts';

/** Responds with the path; dispatches `as/<user>/<rest>` to the shard as that user. */
const echo =
  (pathPrefix: string, events: string[] = []): EmbedServer =>
  (host) => ({
    pathPrefix,
    runnables: [
      {
        name: 'echo',
        start: async () => void events.push('started'),
        stop: async () => void events.push('stopped'),
      },
    ],
    handle: async (exchange) => {
      const rest = exchange.url.slice(pathPrefix.length);
      const [kind, name = '', ...path] = rest.split('/');
      if (kind !== 'as') {
        exchange.respond(200, `${pathPrefix}|${rest}`);
        return;
      }
      const groups = name === 'master' ? ['system:masters'] : [];
      await host.dispatch(exchange, { name, uid: '', groups, extra: {} }, `/${path.join('/')}`);
    },
  });

describe('servers inside a shard', () => {
  const events: string[] = [];
  let shard: InProcessShard;
  beforeAll(async () => {
    shard = await InProcessShard.start(undefined, undefined, [echo('/services/', events), echo('/services/echo/')]);
  }, 120_000);
  afterAll(() => shard[Symbol.asyncDispose]());

  async function get(path: string): Promise<{ code: number; text: string }> {
    const response = await shard.transport.open({ method: 'GET', path });
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    return { code: response.statusCode ?? 0, text };
  }

  test('get the requests below their path, and the longest prefix wins', async () => {
    expect(events).toEqual(['started']);
    expect((await get('/services/echo/a?b=c')).text).toBe('/services/echo/|a?b=c');
    expect((await get('/services/other')).text).toBe('/services/|other');
    for (const path of ['/services', '/services?a=b']) expect((await get(path)).text).toMatch(/^\/services\/\|/);
    expect((await get('/services/echo')).text).toMatch(/^\/services\/echo\/\|/);
    for (const path of ['/clusters/root/services/echo/a', '/%73ervices/echo/a', '/servicesx'])
      expect((await get(path)).code).toBe(404);
    expect((await get('/clusters/root/api')).code).toBe(200);
  });

  test('dispatch requests as the user that they name', async () => {
    const list = '/clusters/root/api/v1/namespaces';
    expect((await get(`/services/echo/as/master${list}`)).code).toBe(200);
    const refused = await get(`/services/echo/as/alice${list}`);
    expect(refused.code).toBe(403);
    expect(refused.text).toContain('User \\"alice\\" cannot list resource');
    const review = await get(`/services/echo/as/alice${list}?watch=true`);
    expect(review.code).toBe(403);
  });
});

test('rejects duplicate prefixes and prefixes of the shard', () => {
  const servers = new EmbeddedServers();
  const server = (pathPrefix: string) => ({
    pathPrefix,
    runnables: [],
    handle: (exchange: BaseExchange) => Promise.resolve(exchange.respond(200, '')),
  });
  servers.add(server('/services/a/'));
  for (const path of ['/services/a/', '/services/b', '/clusters/root/'])
    expect(() => servers.add(server(path))).toThrow(path);
});

test('a start that fails ends what the parts of the shard wait for', async () => {
  await using folder = await TempDir.create('shard');
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const signals: AbortSignal[] = [];
  const embedded: EmbedServer = (host) => {
    signals.push(host.signal);
    return { pathPrefix: '/services/', runnables: [], handle: async () => undefined };
  };
  const args = ['--root-directory', folder.join('root'), '--bind-address', '127.0.0.1', '--storage-backend=memory'];
  const { values } = parseOptions(shardOptionTable, { args: [...args, '--secure-port', String(port)] });
  const { signal } = new AbortController();
  await expect(
    runShard(completeShardOptions(values), { logger: silentLogger, signal, version: 'test', embedded: [embedded] }),
  ).rejects.toThrow('failed to start listener');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  await new Promise((resolve) => taken.close(resolve));
}, 60_000);
