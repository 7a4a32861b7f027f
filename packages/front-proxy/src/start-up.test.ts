import { writeFile } from 'node:fs/promises';
import { afterEach, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { echoOf, patient, ProxyFixture } from '../test/proxy-fixture.ts';

let proxy: ProxyFixture;
afterEach(() => proxy.stop());

const statusOf = async (path: string): Promise<number> => (await proxy.ask(path)).status;

test('is not ready before all shards are synced, and responds with 503 for workspaces that may exist', async () => {
  proxy = await ProxyFixture.start([], {
    ready: false,
    before: ({ b }) => {
      b.holdsWatches = true;
    },
  });
  await eventually(async () => expect(await statusOf('/clusters/root/api')).toBe(200));
  const health = await proxy.ask('/readyz');
  expect([health.status, health.body.toString()]).toEqual([500, expect.stringContaining('[-]index failed')]);
  expect(await statusOf('/livez')).toBe(200);
  for (const path of ['/clusters/root:org/api', '/clusters/nowhere/api', '/services/apiexport/x/y/clusters/org1/api']) {
    const answer = await proxy.ask(path);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  }
  expect(await statusOf('/clusters/NOT-A-PATH/api')).toBe(403);
  proxy.b.release();
  await eventually(async () => expect(await statusOf('/readyz')).toBe(200));
  expect(echoOf(await proxy.ask('/clusters/root:org/api')).shard).toBe('b');
  expect(await statusOf('/clusters/nowhere/api')).toBe(403);
});

test('an unavailable shard affects only its own workspaces', async () => {
  proxy = await ProxyFixture.start([], { before: ({ b }) => b.stop() });
  expect(await statusOf('/clusters/root/api')).toBe(200);
  expect(await statusOf('/clusters/root:org/api')).toBe(503);
});

test('authorization of metrics times out if the root shard is silent', async () => {
  proxy = await ProxyFixture.start(['--upstream-give-up-timeout=300ms']);
  proxy.root.answer = ({ url }) => (url.endsWith('/subjectaccessreviews') ? new Promise(() => undefined) : undefined);
  const { status } = await proxy.ask('/metrics', await proxy.identity('monitoring'));
  expect(status).toBe(503);
});

test('ten thousand workspaces can be deleted at the same time', async () => {
  const names = Array.from({ length: 10_000 }, (_, n) => `mass${n}`);
  proxy = await ProxyFixture.start([], {
    before: ({ root, b }) => {
      for (const name of names) {
        b.putCluster(name);
        root.putWorkspace('root', name, { cluster: name });
      }
    },
  });
  expect(echoOf(await proxy.ask('/clusters/root:mass9999/x')).shard).toBe('b');
  for (const name of names) proxy.b.remove('logicalclusters', name, 'cluster');
  await eventually(async () => expect(await statusOf('/clusters/root:mass9999/x')).toBe(403));
  for (const name of ['mass0', 'mass5000', 'mass9998']) expect(await statusOf(`/clusters/root:${name}/x`)).toBe(403);
  expect(echoOf(await proxy.ask('/clusters/root:org/x')).shard).toBe('b');
  const metrics = await proxy.ask('/metrics', await proxy.identity('root', ['system:masters']));
  expect(metrics.body.toString()).toContain('kcp_indexed_logicalclusters{shard="b"} 1');
});

test('serving certificate and trusted CAs are reloaded', async () => {
  proxy = await ProxyFixture.start();
  const shown: (string | undefined)[] = [];
  proxy.root.answer = (exchange) => {
    shown.push(exchange.socket.getPeerX509Certificate()?.fingerprint256);
    return undefined;
  };
  expect(await statusOf('/clusters/root/x')).toBe(200);
  const next = await proxy.proxyAuthority.issueClient({ user: 'kcp-front-proxy' });
  await writeFile(proxy.path('proxy.crt'), next.certificatePem);
  await writeFile(proxy.path('proxy.key'), next.privateKeyPem);
  await eventually(async () => {
    expect(await statusOf('/clusters/root/x')).toBe(200);
    expect(new Set(shown).size).toBe(2);
  });
});

test('hundreds of concurrent requests are served with a limited rate of new connections', async () => {
  // Both sides and the clients run in this process, so the handshakes take long.
  proxy = await ProxyFixture.start(patient);
  const session = proxy.session();
  const answers = await Promise.all(
    Array.from({ length: 240 }, (_, n) => proxy.ask2(session, { ':path': `/clusters/root:org/${n}` })),
  );
  expect(answers.map((answer) => echoOf(answer).url)).toEqual(answers.map((_, n) => `/clusters/org1/${n}`));
});
