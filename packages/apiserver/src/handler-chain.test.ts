import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { yieldToEventLoop } from '@multiplane/component-base';
import { statusErrors } from '@multiplane/apimachinery';
import { type Answer, TlsFixture } from '@multiplane/testing/serving';
import { admin, alice, ChainSetup, statusOf } from '../test/chain-setup.ts';

let tls: TlsFixture;
let setup: ChainSetup;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
beforeEach(() => {
  setup = new ChainSetup(tls);
});
afterEach(() => tls.cleanUp());

describe('workspace paths', () => {
  const at = (path: string): string => `/clusters/${path}/api/v1/configmaps`;

  test('to another shard return a retriable error to privileged users', async () => {
    const server = await setup.serve();
    const answer = await tls.ask1(server, at('root:far'), { headers: admin });
    expect([answer.status, answer.headers['retry-after'], statusOf(answer).message]).toEqual([
      429,
      '1',
      'Not found on this shard',
    ]);
    setup.allowed = () => false;
    expect((await tls.ask1(server, at('root:far'), { headers: alice })).status).toBe(403);
  });

  test('through an unavailable workspace return an error', async () => {
    const server = await setup.serve();
    const answer = await tls.ask1(server, at('root:down'), { headers: alice });
    expect([answer.status, answer.body.toString(), answer.headers['content-type']]).toEqual([
      503,
      'Not available.\n',
      'text/plain; charset=utf-8',
    ]);
    expect(setup.handled).toEqual([]);
  });
});

describe('authentication', () => {
  test('an invalid credential is 401, whether or not the path exists', async () => {
    const server = await setup.serve();
    for (const path of ['/nope', '/clusters/root/api/v1/namespaces/d/configmaps', '/clusters/none/api']) {
      const answer = await tls.ask1(server, path, { headers: { authorization: 'Bearer wrong' } });
      expect(answer.status).toBe(401);
      expect(answer.body.toString()).toBe(
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}\n',
      );
    }
    expect(setup.asked).toEqual([]);
  });

  test('an unauthenticated client loses its HTTP/2 connection, a known user keeps it', async () => {
    const server = await setup.serve();
    const strange = tls.session2(server);
    const goaway = new Promise((resolve) => strange.once('goaway', resolve));
    expect((await tls.ask2(strange, { ':path': '/livez' })).status).toBe(200);
    await goaway;
    const known = tls.session2(server);
    for (let i = 0; i < 3; i++) expect((await tls.ask2(known, { ':path': '/version', ...admin })).status).toBe(200);
    expect(known.closed).toBe(false);
  });

  test('the credential is removed after authentication', async () => {
    const server = await setup.serve();
    await tls.ask1(server, '/clusters/root/api/v1/namespaces/d/configmaps/a', { headers: admin });
    expect(setup.handled[0]?.exchange.headers['authorization']).toBeUndefined();
    expect(setup.handled[0]?.user.name).toBe('admin');
  });
});

test('the name of the connection is not the choice of the client, unless it is one of our servers', async () => {
  const server = await setup.serve();
  setup.allowed = () => true;
  const told = { 'x-multiplane-connection': 'told' };
  for (const headers of [alice, { ...alice, ...told }, { ...admin, ...told }])
    await tls.ask1(server, '/clusters/root/api/v1/namespaces/d/configmaps/a', { headers });
  const names = setup.handled.map(({ exchange }) => exchange.headers['x-multiplane-connection']);
  expect(names).toEqual([expect.stringMatching(/-0$/), expect.stringMatching(/-1$/), 'told']);
});

describe('authorization', () => {
  test.each([
    [
      'GET',
      '/clusters/root/api/v1/namespaces/d/configmaps/x',
      'configmaps "x" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "d"',
      { name: 'x', kind: 'configmaps' },
    ],
    [
      'GET',
      '/clusters/root/api/v1/configmaps?watch=1',
      'configmaps is forbidden: User "alice" cannot watch resource "configmaps" in API group "" at the cluster scope',
      { kind: 'configmaps' },
    ],
    [
      'DELETE',
      '/clusters/root/apis/nope.example.com/v1/foos',
      'foos.nope.example.com is forbidden: User "alice" cannot deletecollection resource "foos" in API group "nope.example.com" at the cluster scope',
      { group: 'nope.example.com', kind: 'foos' },
    ],
    [
      'PATCH',
      '/clusters/root/api/v1/namespaces/d/status',
      'namespaces "d" is forbidden: User "alice" cannot patch resource "namespaces/status" in API group "" in the namespace "d"',
      { name: 'd', kind: 'namespaces' },
    ],
    ['GET', '/clusters/root/nope', 'forbidden: User "alice" cannot get path "/nope"', {}],
    ['GET', '/clusters/root/a<b>&c', 'forbidden: User "alice" cannot get path "/a&lt;b&gt;&amp;c"', {}],
  ])('%s %s', async (method, path, message, details) => {
    const server = await setup.serve();
    const answer = await tls.ask1(server, path, { method, headers: alice });
    expect(answer.status).toBe(403);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['content-type']).toBe('application/json');
    expect(statusOf(answer)).toMatchObject({ message, reason: 'Forbidden', code: 403, details });
  });

  test('a missing logical cluster is indistinguishable from a forbidden one', async () => {
    const server = await setup.serve();
    const ask = (cluster: string): Promise<Answer> =>
      tls.ask1(server, `/clusters/${cluster}/api/v1/configmaps`, { headers: alice });
    expect((await ask('nothing')).body).toEqual((await ask('root')).body);
  });

  test('system:masters are not authorized', async () => {
    const server = await setup.serve();
    expect((await tls.ask1(server, '/clusters/root/api/v1/configmaps', { headers: admin })).status).toBe(200);
    expect(setup.asked).toEqual([]);
  });

  test('a list of one name is authorized for that name', async () => {
    const server = await setup.serve();
    await tls.ask1(
      server,
      '/clusters/root/api/v1/namespaces/d/configmaps?fieldSelector=metadata.name%3Dx&labelSelector=a',
      { headers: alice },
    );
    expect(setup.asked[0]).toMatchObject({
      verb: 'list',
      name: 'x',
      namespace: 'd',
      fieldSelector: 'metadata.name=x',
      labelSelector: 'a',
    });
  });
});

describe('routing', () => {
  const get = async (path: string, method = 'GET'): Promise<Answer> => {
    setup.server ??= await setup.serve();
    return tls.ask1(setup.server, path, { method, headers: admin });
  };

  test('workspace paths', async () => {
    expect((await get('/clusters/root:org/api/v1/configmaps')).status).toBe(200);
    expect(setup.handled[0]?.info).toMatchObject({
      cluster: 'abc',
      verb: 'list',
      resource: 'configmaps',
      path: '/api/v1/configmaps',
    });
    const missing = await get('/clusters/root:none/api/v1/configmaps');
    expect(statusOf(missing)).toMatchObject({ code: 404, message: 'workspaces.tenancy.kcp.io "root:none" not found' });
  });

  test('a missing workspace is indistinguishable from a forbidden one', async () => {
    const server = await setup.serve();
    for (const headers of [alice, {}, { authorization: 'Bearer nope' }]) {
      for (const path of ['/api/v1/configmaps', '/apis', '/openapi/v3', '/livez', '/metrics']) {
        const closed = await tls.ask1(server, `/clusters/root:org${path}`, { headers });
        const missing = await tls.ask1(server, `/clusters/root:none${path}`, { headers });
        expect([path, missing.status, missing.body.toString()]).toEqual([path, closed.status, closed.body.toString()]);
      }
    }
  });

  test.each([
    ['/nope', 'text'],
    ['/clusters/root/nope', 'text'],
    ['/clusters/root/apis/apps/v1/deployments', 'text'],
    ['/api/v1/configmaps', 'text'],
    ['/clusters/root/api/v1/nopes', 'Status'],
    ['/clusters/root/apis/rbac.authorization.k8s.io/v9/roles', 'Status'],
    ['/clusters/root/version/x', 'Status'],
  ])('%s is 404 as %s', async (path, form) => {
    const answer = await get(path);
    expect(answer.status).toBe(404);
    if (form === 'text') {
      expect(answer.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
      expect(answer.body.toString()).toBe('404 page not found\n');
    } else {
      expect(statusOf(answer)).toMatchObject({
        message: 'the server could not find the requested resource',
        details: {},
      });
    }
  });

  test.each([
    '/clusters/root/../abc/api',
    '/clusters/root/%2e%2e/abc',
    '/clusters/root/api/v1/namespaces/a%2fb/configmaps',
    '/clusters/root/api/v1/namespaces/%00/configmaps',
    '/clusters/root/./api',
    '/clusters/%52OOT/api',
    '/clusters/..%252froot/api',
    '/clusters/ROOT/api',
    '/clusters/a:*/api',
    '/clusters//api/v1',
    '/clusters/root/api/v1/%zz',
    '/clusters/root/api/v1/%ff',
    '/a\\b',
    '/clusters/system:/api',
    '/clusters/..%2froot/api',
  ])('%s is refused', async (path) => {
    const server = await setup.serve();
    const text = await tls.raw(
      server,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(setup.handled).toEqual([]);
  });

  test('repeated slashes are redirected within the same logical cluster', async () => {
    const answer = await get('/clusters/root//api/v1//configmaps?limit=1');
    expect([answer.status, answer.headers.location]).toEqual([307, '/clusters/root/api/v1/configmaps?limit=1']);
  });

  test('over all logical clusters only list and watch are allowed', async () => {
    expect((await get('/clusters/*/api/v1/configmaps')).status).toBe(200);
    const answer = await get('/clusters/*/api/v1/namespaces/d/configmaps/a');
    expect(statusOf(answer)).toMatchObject({
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'get is not supported on resources of kind "configmaps" in the `*` logical cluster',
    });
  });

  test('metrics are served for the server, not for workspaces', async () => {
    expect((await get('/clusters/root/metrics')).status).toBe(501);
    const answer = await get('/metrics');
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
    expect(answer.body.toString()).toContain('apiserver_request_total{verb="GET",');
    expect(answer.body.toString()).toContain('authentication_attempts{result="success"} 1\n');
    expect(answer.body.toString()).toMatch(
      /kubernetes_build_info\{major="1",minor="36",.*platform="linux\/amd64"\} 1\n/,
    );
    expect((await get('/clusters/*/metrics')).body.toString()).toContain('apiserver_request_total{verb="GET",');
  });

  test('results of health checks are metrics of their own', async () => {
    const indicators = async (): Promise<string> => (await get('/metrics/slis')).body.toString();
    expect(await indicators()).not.toContain('name="ping"');
    for (const path of ['/livez', '/livez', '/clusters/root/readyz', '/healthz/ping']) await get(path);
    const text = await indicators();
    expect(text).toContain('kubernetes_healthcheck{name="ping",type="livez"} 1\n');
    expect(text).toContain('kubernetes_healthchecks_total{name="ping",type="livez",status="success"} 2\n');
    expect(text).toContain('kubernetes_healthchecks_total{name="ping",type="readyz",status="success"} 1\n');
    expect(text).not.toContain('type="healthz"');
    expect(text).toMatch(/^process_start_time_seconds 1\d{9}/m);
    expect((await get('/clusters/root/metrics/slis')).status).toBe(501);
  });

  test.each(['1.1', '2.0'])('documents of the server over HTTP/%s', async (version) => {
    const server = await setup.serve();
    const session = tls.session2(server);
    const ask = (path: string): Promise<Answer> =>
      version === '1.1' ? tls.ask1(server, path, { headers: admin }) : tls.ask2(session, { ':path': path, ...admin });
    expect(JSON.parse((await ask('/version')).body.toString())).toMatchObject({
      major: '1',
      minor: '36',
      gitVersion: 'v1.36.0+multiplane-0.1.0',
    });
    expect((await ask('/clusters/root/version/')).status).toBe(200);
    expect((await ask('/readyz?verbose')).body.toString()).toBe('[+]ping ok\nreadyz check passed\n');
    const live = await ask('/clusters/root/livez');
    expect(live.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache, private',
      'x-content-type-options': 'nosniff',
    });
    expect(live.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect((await ask('/livez/none')).body.toString()).toBe('404 page not found\n');
    expect(JSON.parse((await ask('/')).body.toString())).toMatchObject({
      paths: expect.arrayContaining(['/version']) as never,
    });
    expect((await ask('/nothing')).status).toBe(404);
  });
});

test('a failed health check is logged once per request, without a stack', async () => {
  setup.health.add('etcd', () => {
    throw new Error('nobody answers');
  });
  const server = await setup.serve();
  expect((await tls.ask1(server, '/readyz', { headers: admin })).status).toBe(500);
  expect(setup.logged.join('').trim().split('\n')).toEqual([
    expect.stringMatching(/ WARN {2}health check failed check=etcd reason="?nobody answers"?$/),
  ]);
});

test('a check that waits for the startup is no warning', async () => {
  setup.health.addLatch('poststarthook/bootstrap');
  const server = await setup.serve();
  expect((await tls.ask1(server, '/readyz', { headers: admin })).status).toBe(500);
  expect(setup.logged.join('')).toMatch(/ INFO {2}health check failed check=poststarthook\/bootstrap /);
});

describe('responses', () => {
  const path = '/clusters/root/api/v1/configmaps';

  test('contain the audit id of the client if it is valid', async () => {
    const server = await setup.serve();
    expect((await tls.ask1(server, path, { headers: { ...admin, 'audit-id': 'mine' } })).headers['audit-id']).toBe(
      'mine',
    );
    expect(
      (await tls.ask1(server, path, { headers: { ...admin, 'audit-id': 'a'.repeat(100) } })).headers['audit-id'],
    ).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('contain warnings, also with an error', async () => {
    setup.resources = (context) => {
      context.warn('one "quoted"\nthing');
      context.warn('two');
      context.warn('two');
      throw statusErrors.tooManyRequests('storage is (re)initializing', 1);
    };
    const server = await setup.serve();
    const answer = await tls.ask2(tls.session2(server), { ':path': path, ...admin });
    expect(answer.status).toBe(429);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.headers['warning']).toBe(String.raw`299 - "one \"quoted\" thing", 299 - "two"`);
  });

  test('contain warnings with characters beyond ASCII as UTF-8, also before the text of an error', async () => {
    setup.resources = (context) => {
      context.warn('unknown field "ü"');
      throw statusErrors.tooManyRequests('storage is (re)initializing', 1);
    };
    const server = await setup.serve();
    const answer = await tls.ask1(server, path, { headers: admin });
    expect(Buffer.from(String(answer.headers['warning']), 'latin1').toString('utf8')).toContain('unknown field');
    expect(Buffer.from(String(answer.headers['warning']), 'latin1').toString('utf8')).toContain('ü');
  });

  test('do not contain internal errors', async () => {
    setup.resources = () => Promise.reject(new TypeError('secret'));
    const server = await setup.serve();
    const answer = await tls.ask1(server, path, { headers: admin });
    expect([answer.status, answer.body.toString()]).toEqual([
      500,
      'This request caused apiserver to panic. Look in the logs for details.\n',
    ]);
  });

  test('of a list that fails are aborted', async () => {
    setup.resources = (context) => {
      context.exchange.start(200);
      context.exchange.write(Buffer.from('{"items":['));
      throw statusErrors.internal(new Error('lost'));
    };
    const server = await setup.serve();
    await expect(tls.ask1(server, path, { headers: admin })).rejects.toThrow('aborted');
  });

  test('contain errors in the accepted media type', async () => {
    const server = await setup.serve();
    const ask = async (accept: string, query = ''): Promise<string> =>
      (
        await tls.ask1(server, `/clusters/root/api/v1/nopes${query}`, { headers: { ...admin, accept } })
      ).body.toString();
    expect(await ask('application/yaml')).toBe(
      'apiVersion: v1\ncode: 404\ndetails: {}\nkind: Status\nmessage: the server could not find the requested resource\nmetadata: {}\nreason: NotFound\nstatus: Failure\n',
    );
    expect(await ask('text/html')).toMatch(/^\{\n {2}"kind": "Status",\n[\s\S]*\}$/);
    expect(await ask('application/json', '?pretty=true')).toMatch(/^\{\n {2}"kind": "Status",\n[\s\S]*\}$/);
  });

  test('have CORS headers for allowed origins only', async () => {
    const server = await setup.serve({ corsAllowedOrigins: [/^https:\/\/console\.example$/] });
    const preflight = await tls.ask1(server, path, {
      method: 'OPTIONS',
      headers: { origin: 'https://console.example' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe('https://console.example');
    const other = await tls.ask1(server, path, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect(other.status).toBe(403);
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
  });
});

test('identities of two users on one connection do not mix (kcp#4009)', async () => {
  setup.allowed = () => true;
  setup.resources = async (context) => {
    await yieldToEventLoop();
    context.exchange.respond(200, context.user.name);
  };
  const server = await setup.serve();
  const session = tls.session2(server);
  const asked = Array.from({ length: 1000 }, (_, i) => (i % 3 === 0 ? 'admin' : 'alice'));
  const answers: Answer[] = [];
  for (let at = 0; at < asked.length; at += 100) {
    const batch = asked.slice(at, at + 100);
    answers.push(
      ...(await Promise.all(
        batch.map((user) =>
          tls.ask2(session, { ':path': '/clusters/root/api/v1/configmaps', authorization: `Bearer ${user}` }),
        ),
      )),
    );
  }
  expect(answers.map((answer) => answer.body.toString())).toEqual(asked);
});
