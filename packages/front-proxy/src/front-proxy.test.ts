import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { echoOf, ProxyFixture } from '../test/proxy-fixture.ts';

describe('routing', () => {
  let proxy: ProxyFixture;
  beforeEach(async () => {
    proxy = await ProxyFixture.start([], {
      mappings: ['- path: /e2e/clusters/{cluster}/', '  backend: BACKEND', '  TLS', '']
        .join('\n')
        .replace('BACKEND', 'https://127.0.0.1:1'),
    });
  });
  afterEach(() => proxy.stop());

  test('a workspace path is forwarded to its shard with the logical cluster name', async () => {
    expect(echoOf(await proxy.ask('/clusters/root/api'))).toMatchObject({ shard: 'root', url: '/clusters/root/api' });
    const team = await proxy.ask('/clusters/root:org:team/api/v1/pods?limit=5&x=%2F');
    expect(echoOf(team)).toMatchObject({ shard: 'root', url: '/clusters/team1/api/v1/pods?limit=5&x=%2F' });
    const encoded = await proxy.ask('/clusters/root%3Aorg%3ateam/api/v1/pods?x=%3A');
    expect(echoOf(encoded)).toMatchObject({ shard: 'root', url: '/clusters/team1/api/v1/pods?x=%3A' });
    expect(echoOf(await proxy.ask('/clusters/root:org'))).toMatchObject({ shard: 'b', url: '/clusters/org1' });
    expect(echoOf(await proxy.ask('/clusters/org1?a=b'))).toMatchObject({ shard: 'b', url: '/clusters/org1?a=b' });
  });

  test('HTTP/2 with request and response bodies', async () => {
    const session = proxy.session(await proxy.identity('alice', ['team']));
    const body = Buffer.from('x'.repeat(300_000));
    const answer = await proxy.ask2(session, { ':path': '/clusters/root:org/api', ':method': 'POST' }, body);
    const echo = echoOf(answer);
    expect(echo).toMatchObject({ shard: 'b', method: 'POST', url: '/clusters/org1/api' });
    expect(echo.body.length).toBe(300_000);
    expect(Object.keys(echo.headers).filter((name) => name.startsWith(':'))).toEqual([]);
    expect(Object.keys(answer.headers).filter((name) => ['connection', 'keep-alive'].includes(name))).toEqual([]);
  });

  test.each([
    '/clusters/nowhere/api',
    '/clusters/*/api',
    '/clusters/%2A/api',
    '/clusters/root%2Forg/api',
    '/clusters/root%253Aorg/api',
    '/clusters/root:nothing/api',
    '/clusters//api',
    '/clusters/ROOT/x',
  ])('%s is refused to everybody in the same words', async (path) => {
    const answer = await proxy.ask(path);
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      kind: 'Status',
      reason: 'Forbidden',
      message: `forbidden: User "" cannot get path ${JSON.stringify(path)}: workspace access not permitted`,
    });
  });

  test('a workspace that a shard has is routed although the watches of the index lag', async () => {
    proxy.b.holdsEvents = true;
    proxy.root.holdsEvents = true;
    proxy.b.putWorkspace('org1', 'new', { cluster: 'new1' });
    proxy.root.putCluster('new1');
    const byPath = proxy.ask('/clusters/root:org:new/api');
    const byName = proxy.ask('/clusters/new1/api');
    await eventually(() => {
      expect(proxy.b.reads).toContain('/clusters/org1/apis/tenancy.kcp.io/v1alpha1/workspaces/new');
      expect(proxy.root.reads).toContain('/clusters/new1/apis/core.kcp.io/v1alpha1/logicalclusters/cluster');
    });
    expect(proxy.root.requests).toEqual([]);
    proxy.b.release();
    proxy.root.release();
    expect(echoOf(await byPath)).toMatchObject({ shard: 'root', url: '/clusters/new1/api' });
    expect(echoOf(await byName)).toMatchObject({ shard: 'root', url: '/clusters/new1/api' });
  });

  test('a workspace that is not scheduled yet, and one without its logical cluster, are missing', async () => {
    proxy.b.putWorkspace('org1', 'early', {}, 'Scheduling');
    proxy.b.putWorkspace('org1', 'gone', { cluster: 'gone1' });
    for (const name of ['early', 'gone']) expect((await proxy.ask(`/clusters/root:org:${name}/api`)).status).toBe(403);
  });

  test.each([
    '/clusters/root/../x',
    '/clusters/root/%2e%2e/x',
    '/clusters/root/a%2fb',
    '/clusters/root/%00',
    '/clusters/root/%zz',
  ])('%s is ambiguous and is rejected', async (path) => {
    const answer = await proxy.ask(path);
    expect(answer.status).toBe(400);
    expect(proxy.root.requests).toEqual([]);
  });

  test.each([
    ['two lengths', 'content-length: 5\r\ncontent-length: 6'],
    ['a length and chunks', 'content-length: 5\r\ntransfer-encoding: chunked'],
    ['an encoding that is none', 'transfer-encoding: xchunked'],
    ['chunks that are not last', 'transfer-encoding: chunked, identity'],
    ['a folded header', 'x-a: b\r\n transfer-encoding: chunked'],
    ['a space before the colon', 'content-length : 5'],
    ['a bare carriage return', 'x-a: b\rtransfer-encoding: chunked'],
  ])('%s: an ambiguous end of the request is rejected', async (_what, lines) => {
    const smuggled = 'GET /clusters/root/api/v1/secrets HTTP/1.1\r\nhost: x\r\n\r\n';
    const received = await proxy.raw(
      `POST /clusters/root/api HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${lines}\r\n\r\n0\r\n\r\n${smuggled}`,
      await proxy.identity('alice'),
    );
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(proxy.root.requests).toEqual([]);
  });

  test('only the first /clusters/ selects the workspace', async () => {
    const echo = echoOf(await proxy.ask('/clusters/root:org/clusters/root/api'));
    expect(echo).toMatchObject({ shard: 'b', url: '/clusters/org1/clusters/root/api' });
  });

  test('a doubled slash is redirected to a path in the same workspace', async () => {
    const answer = await proxy.ask('/clusters/root//api///v1?x=//');
    expect([answer.status, answer.headers.location]).toEqual([307, '/clusters/root/api/v1?x=//']);
  });

  test('a path without a mapping', async () => {
    for (const path of ['/', '/version', '/api', '/clusters', '/%63lusters/root/api']) {
      const answer = await proxy.ask(path);
      expect([answer.status, answer.body.toString()]).toEqual([404, '404 page not found\n']);
      expect(answer.headers['cache-control']).toBe('no-cache, private');
    }
  });

  test('an unavailable workspace', async () => {
    proxy.root.putWorkspace('root', 'org', { cluster: 'org1' }, 'Unavailable');
    await eventually(async () => {
      const answer = await proxy.ask('/clusters/root:org/api');
      expect([answer.status, answer.body.toString()]).toEqual([503, 'Not available.\n']);
    });
    expect((await proxy.ask('/clusters/org1/api')).status).toBe(200);
  });

  test('new workspaces are routable, deleted ones are not', async () => {
    proxy.b.putCluster('late');
    proxy.root.putWorkspace('root', 'late', { cluster: 'late' });
    await eventually(async () => expect(echoOf(await proxy.ask('/clusters/root:late/x')).shard).toBe('b'));
    proxy.b.remove('logicalclusters', 'late', 'cluster');
    await eventually(async () => expect((await proxy.ask('/clusters/root:late/x')).status).toBe(403));
  });

  test('a shard with a changed URL is reached at the new URL', async () => {
    const { port } = proxy.b;
    expect(port).not.toBe(proxy.root.port);
    proxy.root.putShard('b', { baseURL: proxy.root.url });
    await eventually(async () =>
      expect(echoOf(await proxy.ask('/clusters/org1/x'))).toMatchObject({ shard: 'root', url: '/clusters/org1/x' }),
    );
    proxy.root.remove('shards', 'root', 'b');
    proxy.root.remove('workspaces', 'root', 'org');
    await eventually(async () => expect((await proxy.ask('/clusters/root:org/x')).status).toBe(403));
  });

  test('virtual workspaces of a logical cluster are on its shard', async () => {
    const service = '/services/apiexport/org1/today/clusters/team1/api/v1/pods';
    expect(echoOf(await proxy.ask(service))).toMatchObject({ shard: 'root', url: service });
    const url = '/services/apiexport/team1/today/clusters/org1/api';
    expect(echoOf(await proxy.ask(url))).toMatchObject({ shard: 'b', url: `/vw${url}` });
  });

  test('wildcard requests to virtual workspaces go to the shard of the export, or to the root shard', async () => {
    const all = '/services/apiexport/org1/today/clusters/*/api';
    expect(echoOf(await proxy.ask(all))).toMatchObject({ shard: 'b', url: `/vw${all}` });
    const initializing = '/services/initializingworkspaces/root:universal/clusters/*/api';
    expect(echoOf(await proxy.ask(initializing))).toMatchObject({ shard: 'root', url: initializing });
    expect((await proxy.ask('/services/apiexport/org1/today/clusters/none/api')).status).toBe(403);
    const encoded = '/services/apiexport/org1/today/clusters/%2A/api';
    expect(echoOf(await proxy.ask(encoded))).toMatchObject({ shard: 'b', url: `/vw${encoded}` });
    expect((await proxy.ask('/services/apiexport/root%3Aorg/today/clusters/none%3Ax/api')).status).toBe(403);
  });

  test('the cache server cannot be reached', async () => {
    const identity = await proxy.identity('admin', ['system:masters']);
    const answer = await proxy.ask('/services/cache/shards/*/clusters/*/api', identity);
    expect(answer.status).toBe(404);
    expect([...proxy.root.requests, ...proxy.b.requests]).toEqual([]);
  });

  test('other mappings require an existing workspace', async () => {
    expect((await proxy.ask('/e2e/clusters/nowhere/x')).status).toBe(403);
    expect((await proxy.ask('/e2e/clusters/root:org/x')).status).toBe(503);
    expect((await proxy.ask('/e2e/clusters')).status).toBe(404);
  });

  test('health is public, metrics require authorization', async () => {
    expect((await proxy.ask('/livez')).body.toString()).toBe('ok');
    expect((await proxy.ask('/readyz?verbose')).body.toString()).toContain('[+]index ok');
    expect((await proxy.ask('/metrics')).status).toBe(401);
    const review = (allowed: boolean): void => {
      proxy.root.answer = (exchange) => {
        if (!exchange.url.endsWith('/subjectaccessreviews')) return undefined;
        exchange.setHeader('content-type', 'application/json');
        exchange.respond(201, JSON.stringify({ status: { allowed } }));
        return Promise.resolve();
      };
    };
    review(false);
    expect((await proxy.ask('/metrics', await proxy.identity('eve'))).status).toBe(403);
    review(true);
    const metrics = await proxy.ask('/metrics', await proxy.identity('monitoring', ['scrapers']));
    expect(metrics.body.toString()).toContain('kcp_indexed_logicalclusters{shard="b"} 1');
    expect(proxy.root.requests.map(({ url }) => url)).toEqual([
      '/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews',
      '/clusters/root/apis/authorization.k8s.io/v1/subjectaccessreviews',
    ]);
    expect((await proxy.ask('/metrics', await proxy.identity('root', ['system:masters']))).status).toBe(200);
  });

  test('metrics have the latency of requests, and the bytes of their bodies by shard', async () => {
    const operator = await proxy.identity('root', ['system:masters']);
    const metric = async (series: string): Promise<number> => {
      const lines = (await proxy.ask('/metrics', operator)).body.toString().split('\n');
      return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1) ?? 0);
    };
    const sent = 'kcp_backend_rq_body_bytes{shard="b"}';
    const received = 'kcp_backend_rs_body_bytes{shard="b"}';
    const before = await metric(received);
    const session = proxy.session(await proxy.identity('alice', ['team']));
    const post = { ':path': '/clusters/root:org/api', ':method': 'POST' };
    const answer = await proxy.ask2(session, post, Buffer.alloc(300_000, 'x'));
    // A client may have its response before the proxy has counted it.
    await eventually(async () => expect(await metric(sent)).toBe(300_000));
    expect((await metric(received)) - before).toBe(answer.body.length);
    expect(await metric('proxy_request_duration_seconds_count{method="POST",code="200"}')).toBe(1);
  });
});
