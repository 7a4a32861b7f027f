import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, TempDir } from '@multiplane/testing';
import { ConsoleBrowser } from '../harness/console-browser.ts';
import { configureIssuers } from '../harness/console-issuers.ts';
import { ConsoleProcess } from '../harness/console-process.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { OidcProvider } from '../harness/oidc-provider.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { createWorkspace, grantAccess } from '../harness/workspaces.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
const isSharded = topologyName === 'sharded';

let directory: TempDir;
let provider: OidcProvider;
let control: ControlPlane;
/** Sharded: the console is a process of its own. All in one: the server has it below /console/. */
let own: ConsoleProcess | undefined;
/** A process with sessions and links that end at once. */
let hasty: ConsoleProcess;
let at: { readonly url: string; readonly ca: string };

beforeAll(async () => {
  directory = await TempDir.create('console');
  provider = await OidcProvider.start();
  const { consoleFlags, oidcFlags } = configureIssuers(directory, provider, { one: 'Staff (one)', two: 'Staff (two)' });
  control = await startControlPlane({
    ownProcesses: true,
    // Tokens of the token file are known to the shards alone.
    ...(isSharded
      ? { frontProxyFlags: [...oidcFlags, '--feature-gates=WorkspaceAuthentication=true'] }
      : { flags: [...oidcFlags, ...consoleFlags] }),
  });
  own = isSharded ? await ConsoleProcess.start(control, consoleFlags) : undefined;
  at = own ?? control;
  hasty = await ConsoleProcess.start(control, ['--console-session-lifetime=2s', '--console-login-link-lifetime=1s']);
  const admin = control.transport('root');
  await createWorkspace(admin, 'root', 'team');
  await grantAccess(admin, 'root:team', ['user-1']);
  admin.close();
}, 240_000);

afterAll(async () => {
  await hasty?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
  await control?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await directory?.remove();
});

const configMaps = '/proxy/clusters/root:team/api/v1/namespaces/default/configmaps';
const configMap = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

async function newLink(console = at): Promise<string> {
  const ca = directory.join(`ca-${new URL(console.url).port}.crt`);
  writeFileSync(ca, console.ca);
  const { stdout } = await promisify(execFile)(
    multiplane,
    ['console-link', `--kubeconfig=${control.kubeconfig}`, `--console-url=${console.url}`, `--console-ca-file=${ca}`],
    { encoding: 'utf8' },
  );
  return stdout.trim();
}

const codeOf = (link: string): string => new URL(link).searchParams.get('code') ?? '';
const pathOf = (link: string): string => link.slice(link.indexOf('/console') + '/console'.length);

describe('log-in', () => {
  test('without a session the ways to log in are named', async () => {
    using browser = new ConsoleBrowser(at);
    const { status, json } = await browser.readSession();
    expect([status, json]).toEqual([
      401,
      {
        loginMethods: [
          { kind: 'oidc', id: 'one', displayName: 'Staff (one)' },
          { kind: 'oidc', id: 'two', displayName: 'Staff (two)' },
          { kind: 'token' },
        ],
      },
    ]);
    expect((await browser.send(configMaps)).status).toBe(401);
  });

  test('by token: the session names the user, and its cookie is out of the reach of scripts and of other sites', async () => {
    using browser = new ConsoleBrowser(at);
    const answer = await browser.logIn(testTokens['user-1']);
    expect([answer.status, answer.json]).toMatchObject([
      200,
      {
        user: { name: 'user-1', groups: expect.arrayContaining(['system:authenticated']) },
        issuer: null,
        expiresAt: expect.any(String),
        csrfToken: expect.any(String),
        server: { version: expect.any(String), profile: topologyName },
      },
    ]);
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie.split('; ').slice(1).sort()).toEqual([
      'HttpOnly',
      'Max-Age=43200',
      'Path=/console',
      'SameSite=Strict',
      'Secure',
    ]);
    expect(cookie).not.toContain(testTokens['user-1']);
    expect((await browser.send(configMaps)).status).toBe(403);
  });

  test('a wrong token is refused, and so is a body that is none', async () => {
    using browser = new ConsoleBrowser(at);
    expect((await browser.send('/login/token', { body: { token: 'made-up' } })).status).toBe(401);
    for (const body of [{}, { token: 'a b' }, { token: '' }, { token: 'x'.repeat(20_000) }])
      expect((await browser.send('/login/token', { body })).status).toBe(400);
    expect((await browser.send('/login/token', { body: { token: 'x'.repeat(100_000) } })).status).toBe(413);
    expect((await browser.send('/login/token', { body: 'token=x' })).status).toBe(400);
    expect((await browser.readSession()).status).toBe(401);
  });

  test('by link: its page leaves it unused, it works once, and logs in as the administrator', async () => {
    const link = await newLink();
    using browser = new ConsoleBrowser(at);
    for (let i = 0; i < 3; i++) {
      const page = await browser.send(pathOf(link), {
        headers: { 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' },
      });
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('<code>kcp-admin</code>')]);
    }
    const used = await browser.send('/login/link', { body: `code=${codeOf(link)}` });
    expect([used.status, used.headers.location]).toEqual([303, '/console/']);
    expect((await browser.readSession()).json).toMatchObject({ user: { name: 'kcp-admin' } });
    expect((await browser.send(configMaps)).status).toBe(200);
    using other = new ConsoleBrowser(at);
    expect((await other.send('/login/link', { body: `code=${codeOf(link)}` })).status).toBe(404);
    expect((await other.send(pathOf(link))).text).toContain('does not work');
    expect((await other.readSession()).status).toBe(401);
  });

  test('a link that was not used in its time does not work', async () => {
    const link = await newLink(hasty);
    using browser = new ConsoleBrowser(hasty);
    await eventually(async () => expect((await browser.send(pathOf(link))).status).toBe(404));
    expect((await browser.send('/login/link', { body: `code=${codeOf(link)}` })).status).toBe(404);
  });

  test('a link is made for a credential that the API server accepts, and for no other', async () => {
    using browser = new ConsoleBrowser(at);
    expect((await browser.send('/login/links', { body: { token: 'made-up' } })).status).toBe(401);
    expect((await browser.send('/login/links', { body: {} })).status).toBe(400);
    // The form of another site that would put its visitor into the session of somebody else.
    const { json } = await browser.send('/login/links', { body: { token: testTokens['user-2'] } });
    const form = { body: `code=${new URL(String(json['path']), at.url).searchParams.get('code')}` };
    const foreign = { ...form, bare: true as const, headers: { origin: 'https://evil.example' } };
    expect((await browser.send('/login/link', foreign)).status).toBe(403);
    expect((await browser.send('/login/link', form)).status).toBe(303);
  });
});

describe('log-in by OpenID Connect', () => {
  const navigation = { headers: { 'sec-fetch-dest': 'document', 'sec-fetch-site': 'cross-site' } };

  /** Goes to the issuer and back; the last answer is the one of the callback. */
  async function viaIssuer(browser: ConsoleBrowser, returnTo: string, id = 'one') {
    const started = await browser.send(`/login/oidc/${id}?returnTo=${encodeURIComponent(returnTo)}`, navigation);
    expect(started.status).toBe(303);
    using issuer = new ConsoleBrowser(provider);
    const agreed = await issuer.send(String(started.headers.location), { bare: true });
    return { started, callback: String(agreed.headers.location) };
  }

  test('several issuers: code flow with PKCE, state, nonce, and the way back to where it started', async () => {
    for (const id of ['one', 'two']) {
      using browser = new ConsoleBrowser(at);
      const { started, callback } = await viaIssuer(browser, '/console/w/root:team?tab=a#b', id);
      const asked = new URL(String(started.headers.location)).searchParams;
      expect(Object.fromEntries(asked)).toMatchObject({
        response_type: 'code',
        client_id: 'console',
        redirect_uri: `${at.url}/console/login/oidc/${id}/callback`,
        code_challenge_method: 'S256',
        state: expect.any(String),
        nonce: expect.any(String),
      });
      // Lax, because the browser comes back from another site; only the callback gets it.
      expect(started.headers['set-cookie']).toEqual([
        expect.stringMatching(/; Path=\/console\/login\/oidc; Max-Age=600; HttpOnly; Secure; SameSite=Lax$/),
      ]);
      const done = await browser.send(callback, navigation);
      expect([done.status, done.headers.location]).toEqual([303, '/console/w/root:team?tab=a#b']);
      expect((await browser.readSession()).json).toMatchObject({ user: { name: 'sam' }, issuer: id });
      expect((await browser.send(configMaps)).status).toBe(403);
    }
  });

  test('a callback that this browser did not start is refused, and no code works twice', async () => {
    using browser = new ConsoleBrowser(at);
    const { callback } = await viaIssuer(browser, '/console/');
    using other = new ConsoleBrowser(at);
    expect((await other.send(callback, navigation)).status).toBe(400);
    const forged = new URL(callback);
    forged.searchParams.set('state', 'forged');
    expect((await browser.send(forged.href, navigation)).status).toBe(401);
    // The attempt has used up the state of the browser.
    expect((await browser.send(callback, navigation)).status).toBe(400);
    expect((await browser.readSession()).status).toBe(401);
  });

  test.each([
    'https://evil.example/',
    '//evil.example/console/',
    '/\\evil.example/console/',
    '\t//evil.example/console/',
    '/console/../clusters/root',
    '/console/proxy/clusters/root/api',
    '/console/login/oidc/one',
    'javascript:alert(1)',
  ])('the way back is never to %j', async (returnTo) => {
    using browser = new ConsoleBrowser(at);
    const { callback } = await viaIssuer(browser, returnTo);
    expect((await browser.send(callback, navigation)).headers.location).toBe('/console/');
  });

  test('a token is renewed before it ends, and the log-out ends the session at the issuer, too', async () => {
    provider.lifetime = 30;
    try {
      using browser = new ConsoleBrowser(at);
      const { callback } = await viaIssuer(browser, '/console/');
      await browser.send(callback, navigation);
      await browser.readSession();
      const before = provider.refreshed;
      // Requests at the same time renew it once: the issuer accepts each refresh token once.
      provider.lifetime = 3_600;
      const answers = await Promise.all(Array.from({ length: 8 }, () => browser.send(configMaps)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 403));
      expect(provider.refreshed).toBe(before + 1);
      const revoked = provider.revoked.length;
      const out = await browser.send('/logout', { method: 'POST' });
      const end = new URL(String(out.json['endSessionUrl']));
      expect([end.origin, end.pathname, end.searchParams.get('post_logout_redirect_uri')]).toEqual([
        provider.url,
        '/end',
        `${at.url}/console/`,
      ]);
      expect(provider.revoked.length).toBe(revoked + 1);
      expect((await browser.readSession()).status).toBe(401);
    } finally {
      provider.lifetime = 3_600;
    }
  });
});

describe('requests in the name of the user', () => {
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    browser = new ConsoleBrowser(at);
    await browser.send('/login/link', { body: `code=${codeOf(await newLink())}` });
    await browser.readSession();
  });
  afterAll(() => browser[Symbol.dispose]());

  test('all verbs reach the API with their bodies and come back as the API answers', async () => {
    const created = await browser.send(configMaps, { body: configMap('verbs') });
    expect([created.status, created.headers['audit-id']]).toEqual([201, expect.any(String)]);
    const one = `${configMaps}/verbs`;
    const patch = {
      method: 'PATCH',
      body: { data: { a: '1' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    };
    expect((await browser.send(one, patch)).json).toMatchObject({ data: { a: '1' } });
    const { json } = await browser.send(one);
    expect((await browser.send(one, { method: 'PUT', body: { ...json, data: { a: '2' } } })).status).toBe(200);
    expect((await browser.send(one, { method: 'PUT', body: { ...json, data: { a: '3' } } })).status).toBe(409);
    expect((await browser.send(`${configMaps}?labelSelector=a%3Db&limit=1`)).json).toMatchObject({ items: [] });
    expect((await browser.send(one, { method: 'DELETE' })).status).toBe(200);
    expect((await browser.send(one)).status).toBe(404);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s without the token of the session is refused', async (method) => {
    const body = method === 'DELETE' ? {} : { body: configMap('forged') };
    const path = method === 'POST' ? configMaps : `${configMaps}/kube-root-ca.crt`;
    for (const token of ['', 'wrong']) {
      const answer = await browser.send(path, { method, ...body, headers: { 'x-csrf-token': token } });
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('X-CSRF-Token')]);
    }
    expect((await browser.send('/logout', { method: 'POST', headers: { 'x-csrf-token': '' } })).status).toBe(403);
  });

  test('requests that another site caused are refused, whatever token they have', async () => {
    const evil = { origin: 'https://evil.example' };
    expect((await browser.send(configMaps, { body: configMap('x'), headers: evil })).status).toBe(403);
    for (const site of ['cross-site', 'same-site'])
      expect((await browser.send(configMaps, { headers: { 'sec-fetch-site': site } })).status).toBe(403);
    expect((await browser.send('/login/token', { body: { token: 'x' }, headers: evil })).status).toBe(403);
    // What tenants store is not loaded as a page, a script or an image of the console.
    for (const destination of ['document', 'iframe', 'script', 'style', 'image', 'worker'])
      expect((await browser.send(configMaps, { headers: { 'sec-fetch-dest': destination } })).status).toBe(403);
  });

  test('neither impersonation nor credentials, identities and cookies of the browser reach the API', async () => {
    using user = new ConsoleBrowser(at);
    await user.logIn(testTokens['user-1']);
    const whoAmI = (headers: Record<string, string>) =>
      user.send('/proxy/clusters/root/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
        headers,
      });
    const forged = {
      'impersonate-user': 'system:admin',
      'impersonate-group': 'system:masters',
      authorization: `Bearer ${testTokens.masters}`,
      'x-remote-user': 'system:admin',
      'x-remote-group': 'system:masters',
      'x-forwarded-for': '192.0.2.1',
    };
    const answer = await whoAmI(forged);
    expect(answer.json).toMatchObject({ status: { userInfo: { username: 'user-1' } } });
    expect(answer.text).not.toContain('system:masters');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test('a user without rights sees what the API says, and not more', async () => {
    using user = new ConsoleBrowser(at);
    await user.logIn(testTokens['user-2']);
    const through = await user.send(configMaps);
    const direct = control.transport({ token: testTokens['user-2'] });
    const response = await direct.open({ method: 'GET', path: configMaps.slice('/proxy'.length) });
    let text = '';
    for await (const chunk of response) text += String(chunk);
    direct.close();
    expect([through.status, through.json]).toEqual([response.statusCode, JSON.parse(text)]);
    expect(through.status).toBe(403);
    expect((await user.send('/operator/metrics')).status).toBe(403);
  });

  test('paths do not lead out of the API', async () => {
    for (const path of ['/proxy/..%2f..%2fmetrics', '/proxy//evil.example/', '/proxy/console/session'])
      expect([200, 201]).not.toContain((await browser.send(path)).status);
  });

  test('operators see the figures of every shard', async () => {
    const user = new ConsoleBrowser(at);
    await user.logIn(testTokens.masters);
    const { status, json } = await user.send('/operator/metrics');
    user[Symbol.dispose]();
    expect(status).toBe(200);
    const shards = json['shards'] as readonly Record<string, unknown>[];
    expect(new Set(shards.map(({ name }) => name))).toEqual(new Set(isSharded ? ['root', 'shard-1'] : ['root']));
    for (const shard of shards)
      expect(shard).toMatchObject({
        requests: { total: expect.any(Number) },
        flowControl: expect.arrayContaining([expect.objectContaining({ priorityLevel: 'workload-low' })]),
      });
  });

  test('operators see the leaders of all workspaces by usage, and only they', async () => {
    using user = new ConsoleBrowser(at);
    await user.logIn(testTokens.masters);
    const { status, json } = await user.send('/operator/tenants');
    expect([status, json]).toMatchObject([200, { failures: [], isTruncated: false }]);
    const tenants = json['tenants'] as readonly { readonly cluster: string; readonly objects: number }[];
    expect(tenants.find(({ cluster }) => cluster === 'root')?.objects).toBeGreaterThan(10);
    using other = new ConsoleBrowser(at);
    await other.logIn(testTokens['user-1']);
    expect((await other.send('/operator/tenants')).status).toBe(403);
  });

  test('consumers of an export are asked for by the name of a logical cluster, which never leads to a mount', async () => {
    for (const cluster of ['root:team', '*', 'a/b', ''])
      expect((await browser.send(`/provider/consumers?cluster=${encodeURIComponent(cluster)}&export=x`)).status).toBe(
        400,
      );
    expect((await browser.send('/provider/consumers?cluster=root&export=x')).json).toEqual({
      consumers: [],
      failures: [],
      isTruncated: false,
    });
    using user = new ConsoleBrowser(at);
    await user.logIn(testTokens['user-2']);
    expect((await user.send('/provider/consumers?cluster=root&export=x')).status).toBe(403);
  });

  test('a review explains which authorizer denies; the reason of the answer stays that of kcp', async () => {
    const path = '/proxy/clusters/root:team/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'user-2', resourceAttributes: { verb: 'list', resource: 'secrets' } },
    };
    const { json } = await browser.send(`${path}?explain=true`, { body });
    expect(json).toMatchObject({
      metadata: { annotations: { 'sar.auth.kcp.io/02-content-reason': 'no verb=access permission on /' } },
      status: { allowed: false, reason: 'access denied' },
    });
    expect((await browser.send(path, { body })).json).not.toHaveProperty(['metadata', 'annotations']);
  });

  test('a body of more than 8 MiB is refused before it is sent on', async () => {
    const body = { ...configMap('large'), data: { text: 'x'.repeat(9 * 1024 * 1024) } };
    const { status, text } = await browser.send(configMaps, { body });
    expect([status, text]).toEqual([413, expect.stringContaining('limit is 8388608')]);
  });

  test('kubeconfigs name the workspace and the authority, and contain no credential', async () => {
    using user = new ConsoleBrowser(at);
    await user.logIn(testTokens['user-1']);
    for (const [each, comment] of [
      [user, 'The console does not give tokens away'],
      [browser, 'one-time link'],
    ] as const) {
      const { status, text } = await each.send('/kubeconfig?cluster=root:team');
      expect([status, text]).toEqual([200, expect.stringContaining(`/clusters/root:team`)]);
      expect(text).toContain(comment);
      expect(text).toContain('certificate-authority-data');
      expect(text).not.toMatch(/token: |client-key|client-certificate/);
    }
    expect((await user.send('/kubeconfig?cluster=root:%0aevil')).status).toBe(400);
  });
});

describe('the end of a session', () => {
  test('after its time the API is out of reach', async () => {
    using browser = new ConsoleBrowser(hasty);
    await browser.logIn(testTokens['user-1']);
    await eventually(async () => expect((await browser.readSession()).status).toBe(401));
    expect((await browser.send(configMaps)).status).toBe(401);
  });

  test('a log-out ends it for everybody who knows its cookie, and a watch that is open', async () => {
    using browser = new ConsoleBrowser(at);
    await browser.logIn(testTokens.masters);
    const { cookies } = browser;
    const session = connectHttp2(at.url, { ca: at.ca });
    const watch = session.request({ ':path': `/console${configMaps}?watch=true`, cookie: cookies });
    const closed = new Promise<Error | undefined>((resolve) => watch.on('error', resolve));
    await once(watch, 'response');
    watch.resume();
    const out = await browser.send('/logout', { method: 'POST' });
    expect([out.status, out.json]).toEqual([200, { endSessionUrl: null }]);
    // Cut, not complete: the application must not take it for the end of the events.
    expect(await closed).toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
    const again = session.request({ ':path': '/console/session', cookie: cookies });
    const [headers] = (await once(again, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(401);
    session.close();
  });
});

/** Watches of ConfigMaps that the shards are serving. */
async function openWatches(): Promise<number> {
  let count = 0;
  for (const shard of control.shardTransports()) {
    const response = await shard.open({ method: 'GET', path: '/metrics', accept: 'text/plain' });
    let text = '';
    for await (const chunk of response) text += String(chunk);
    shard.close();
    for (const [, labels = '', value] of text.matchAll(/^apiserver_longrunning_requests\{(.*)\} (\d+)$/gm))
      if (labels.includes('resource="configmaps"')) count += Number(value);
  }
  return count;
}

test('metrics of a console of its own need a token that may read them', async () => {
  const ask = async (authorization?: string) => {
    using browser = new ConsoleBrowser(hasty);
    return await browser.send(`${hasty.url}/metrics`, {
      bare: true,
      headers: authorization === undefined ? {} : { authorization },
    });
  };
  expect((await ask()).status).not.toBe(200);
  expect((await ask(`Bearer ${testTokens['user-1']}`)).status).toBe(403);
  const { status, text } = await ask(`Bearer ${control.adminToken}`);
  expect([status, text]).toEqual([200, expect.stringContaining('multiplane_console_sessions ')]);
});

test('500 watches that a browser leaves end at the shards', async () => {
  using browser = new ConsoleBrowser(at);
  await browser.logIn(testTokens.masters);
  await eventually(async () => expect(await openWatches()).toBe(0), { timeout: 30_000 });
  const sessions: ClientHttp2Session[] = [];
  // Two connections: a server allows 250 streams of each.
  for (let i = 0; i < 2; i++) {
    const session = connectHttp2(at.url, { ca: at.ca });
    session.on('error', () => undefined);
    sessions.push(session);
    await Promise.all(
      Array.from({ length: 250 }, async () => {
        const watch = session.request({
          ':path': `/console${configMaps}?watch=true&allowWatchBookmarks=true`,
          cookie: browser.cookies,
        });
        watch.on('error', () => undefined);
        const [headers] = (await once(watch, 'response')) as [Record<string, unknown>];
        expect(headers[':status']).toBe(200);
      }),
    );
  }
  expect(await openWatches()).toBe(500);
  for (const session of sessions) session.destroy();
  await eventually(async () => expect(await openWatches()).toBe(0), { timeout: 30_000 });
}, 120_000);

test('events of a watch arrive while it is open', async () => {
  using browser = new ConsoleBrowser(at);
  await browser.logIn(testTokens.masters);
  const session = connectHttp2(at.url, { ca: at.ca });
  const watch = session.request({ ':path': `/console${configMaps}?watch=true`, cookie: browser.cookies });
  let received = '';
  watch.on('data', (chunk: Buffer) => (received += chunk.toString()));
  await once(watch, 'response');
  const name = 'seen-live';
  expect((await browser.send(configMaps, { body: configMap(name) })).status).toBe(201);
  await eventually(() => expect(received).toContain(name));
  session.destroy();
});

test('every response forbids framing, sniffing and scripts of others, and is stored nowhere', async () => {
  using browser = new ConsoleBrowser(at);
  for (const path of ['/', '/session', '/w/root:team', '/login/link?code=x', configMaps, '/assets/none.js']) {
    const { headers } = await browser.send(path);
    expect([path, headers]).toMatchObject([
      path,
      {
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      },
    ]);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe-|https?:|\*/);
  }
});
