import { execFile } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { testTokens } from '../harness/local-cluster.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
let cluster: ShardedCluster;

beforeAll(async () => {
  cluster = await ShardedCluster.start();
}, 180_000);
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** Serial number of the certificate that a port presents; the certificate is not verified. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const servers = (): { name: string; port: number }[] =>
  cluster.ports.filter(({ name }) => /^(front-proxy|cache-server|shard-|virtual-workspaces-)/.test(name));

test('all certificates are replaced under load: every server shows a new one, no request fails, none restarts', async () => {
  const admin = cluster.transport('shard-base');
  try {
    await createWorkspace(admin, 'root', 'load', { shard: 'shard-1' });
    const before = new Map(
      await Promise.all(servers().map(async ({ name, port }) => [name, await shown(port)] as const)),
    );
    const pids = cluster.processes.map((name) => cluster.process(name).pid);
    const load = { stop: false, answers: 0, failures: [] as unknown[] };
    const running = ['/clusters/root/api/v1/namespaces', '/clusters/root:load/api/v1/namespaces'].map(async (path) => {
      while (!load.stop) {
        // A connection of its own for each: every part of the way shakes hands again.
        const transport = new RestTransport({
          config: { server: cluster.url, ca: cluster.ca, token: testTokens.masters },
        });
        try {
          await transport.json({ method: 'GET', path });
          load.answers++;
        } catch (error) {
          load.failures.push(error);
        } finally {
          transport.close();
        }
      }
    });
    await cluster.initPki('--renew');
    await eventually(
      async () => {
        for (const { name, port } of servers()) expect([name, await shown(port)]).not.toEqual([name, before.get(name)]);
      },
      { timeout: 30_000 },
    );
    const soFar = load.answers;
    await eventually(() => expect(load.answers).toBeGreaterThan(soFar + 20), { timeout: 20_000 });
    load.stop = true;
    await Promise.all(running);
    expect(load.failures).toEqual([]);
    // Connections to other shards and to the cache use the new certificates.
    await createWorkspace(admin, 'root', 'after', { shard: 'shard-1' });
    expect(cluster.processes.map((name) => cluster.process(name).pid)).toEqual(pids);
  } finally {
    admin.close();
  }
}, 120_000);

test('a client authority is added and taken away again while everything runs', async () => {
  const clientCa = cluster.path('pki', 'client-ca.crt');
  const old = readFileSync(clientCa, 'utf8');
  const other = cluster.path('other-pki');
  await promisify(execFile)(multiplane, [
    'pki',
    'init',
    '--quiet',
    `--directory=${other}`,
    '--shard-urls=root=https://localhost:1',
  ]);
  await promisify(execFile)(multiplane, [
    'pki',
    'issue',
    `--directory=${other}`,
    'carol',
    '--user=carol',
    '--groups=system:kcp:admin',
  ]);
  const asCarol = async (): Promise<number | undefined> => {
    const transport = new RestTransport({
      config: {
        server: cluster.url,
        ca: cluster.ca,
        certificate: readFileSync(join(other, 'carol', 'tls.crt'), 'utf8'),
        key: readFileSync(join(other, 'carol', 'tls.key'), 'utf8'),
      },
    });
    try {
      const answer = await transport.open({ method: 'GET', path: '/clusters/root/api/v1/namespaces' });
      answer.resume();
      return answer.statusCode;
    } finally {
      transport.close();
    }
  };
  expect(await asCarol()).toBe(401);
  appendFileSync(clientCa, readFileSync(join(other, 'client-ca.crt'), 'utf8'));
  await eventually(async () => expect(await asCarol()).toBe(200), { timeout: 15_000 });
  writeFileSync(clientCa, old);
  await eventually(async () => expect(await asCarol()).toBe(401), { timeout: 15_000 });
}, 120_000);
