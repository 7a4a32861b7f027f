import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ChildServer, eventually, freePorts, TempDir, testCertificates } from '@multiplane/testing';
import { healthAt } from '../../packages/multiplane/src/topology/index.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');

test('a server exits on SIGTERM, also when NATS accepts connections and stays silent', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const folder = await TempDir.create('leaving');
  const [port] = await freePorts(1);
  const { authorityPem } = await testCertificates();
  writeFileSync(folder.join('ca.crt'), authorityPem);
  const server = new ChildServer({
    name: 'cache-server',
    command: multiplane,
    args: [
      'cache-server',
      `--root-directory=${folder.join('root')}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--client-ca-file=${folder.join('ca.crt')}`,
      `--nats-servers=127.0.0.1:${(silent.address() as AddressInfo).port}`,
    ],
    // It listens, and is not ready.
    probe: async () => expect(await healthAt(`http://127.0.0.1:${port}/`, () => undefined)).not.toContain('REFUSED'),
  });
  await server.start();
  // The library of NATS leaves the first one open when it gives up.
  await eventually(() => expect(sockets.size).toBeGreaterThan(1), { timeout: 30_000 });
  await server.stop(120_000);
  expect(server.output).toContain('shutting down');
  expect(server.running).toBe(false);
  for (const socket of sockets) socket.destroy();
  silent.close();
  await folder.remove();
}, 90_000);

test('a shard that finds no etcd says so, and that it failed', async () => {
  const folder = await TempDir.create('leaving');
  const [port, unusedPort] = await freePorts(2);
  const args = [
    'shard',
    `--root-directory=${folder.join('root')}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--storage-backend=etcd',
    `--etcd-servers=http://127.0.0.1:${unusedPort}`,
  ];
  const child = spawn(multiplane, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect([code, said]).toEqual([1, expect.stringContaining('etcd does not respond')]);
  await folder.remove();
}, 60_000);
