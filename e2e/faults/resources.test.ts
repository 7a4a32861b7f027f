import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eventually, missingRoot, MissingPrerequisiteError, ProcessInfo, unlessMissing } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { LocalCluster } from '../harness/local-cluster.ts';
import { Requests } from '../harness/requests.ts';
import { checkDuring } from './history/run-kills.ts';
import type { RecordedLoad } from './history/load.ts';

/*
 * A control plane that runs out of disk or descriptors, or whose clock jumps, under load: nothing acknowledged is lost, and it
 * recovers by itself.
 */

const configMaps = '/clusters/root/api/v1/namespaces/default/configmaps';

/** Resolves after so many more acknowledged writes of the load. */
async function some(load: RecordedLoad, writes: number): Promise<void> {
  const wanted = load.acknowledged + writes;
  await eventually(() => expect(load.acknowledged).toBeGreaterThanOrEqual(wanted), { timeout: 60_000 });
}

unlessMissing(missingRoot(), describe)('a full disk', () => {
  let disk: string | undefined;
  const unmount = (): void => {
    if (disk !== undefined) execFileSync('umount', ['--lazy', disk]);
    disk = undefined;
  };
  afterEach(unmount);

  test('writes get 507 with a clear text, reads go on, readiness fails, and it recovers when there is space', async () => {
    await using cluster = await LocalCluster.start({
      prepare: (root) => {
        mkdirSync(root, { recursive: true });
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', root]);
        disk = root;
      },
    });
    using requests = new Requests(cluster);
    const ballast = join(cluster.path('root'), 'ballast');
    const result = await checkDuring(cluster, 'full', async (load) => {
      await some(load, 20);
      // Everything that is left, whatever the store has taken of it.
      expect(() => {
        for (let i = 0; i < 100; i++) writeFileSync(`${ballast}-${i}`, Buffer.alloc(1 << 20));
      }).toThrow(/ENOSPC/);
      const refused = await eventually(
        async () => {
          const response = await requests.send({
            method: 'POST',
            path: configMaps,
            body: configMap(`full-${Date.now()}`),
          });
          expect(response.status).toBe(507);
          return response;
        },
        { timeout: 60_000 },
      );
      expect(refused.json['message']).toBe('the server has no room left to store the object');
      expect((await requests.send({ path: configMaps })).status).toBe(200);
      const ready = await requests.send({ path: '/readyz?verbose' });
      expect([ready.status, ready.text]).toEqual([500, expect.stringContaining('[-]etcd')]);
      expect((await requests.send({ path: '/livez' })).status).toBe(200);
      for (const file of readdirSync(cluster.path('root')))
        if (file.startsWith('ballast')) rmSync(join(cluster.path('root'), file));
      await eventually(async () => expect((await requests.send({ path: '/readyz' })).status).toBe(200), {
        timeout: 60_000,
      });
      await some(load, 20);
    });
    expect(result.problems).toEqual([]);
    // What the disk did not take is not there after a restart, and what it took is.
    const before = (await requests.must({ path: configMaps })).json['items'] as { metadata: { name: string } }[];
    await cluster.process.kill();
    await cluster.process.start();
    using again = new Requests(cluster);
    const after = (await again.must({ path: configMaps })).json['items'] as { metadata: { name: string } }[];
    expect(after.map(({ metadata }) => metadata.name)).toEqual(before.map(({ metadata }) => metadata.name));
    await cluster.process.kill();
    unmount();
  }, 240_000);
});

test('without descriptors new connections fail, open ones are served, and it recovers', async () => {
  if (process.platform !== 'linux')
    throw new MissingPrerequisiteError('only Linux limits a process that runs (prlimit); use Linux');
  await using cluster = await LocalCluster.start();
  using requests = new Requests(cluster);
  await requests.must({ path: configMaps });
  const pid = cluster.process.pid as number;
  const info = new ProcessInfo();
  const [soft = '', hard = ''] = execFileSync('prlimit', [
    '--pid',
    String(pid),
    '--nofile',
    '--output=SOFT,HARD',
    '--noheadings',
  ])
    .toString()
    .trim()
    .split(/\s+/);
  const sockets: Socket[] = [];
  try {
    const result = await checkDuring(cluster, 'descriptors', async (load) => {
      await some(load, 20);
      const open = info.openFiles(pid);
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${open + 3}:${hard}`]);
      for (let i = 0; i < 40; i++) sockets.push(connect(cluster.port, '127.0.0.1').on('error', () => undefined));
      await eventually(() => expect(info.openFiles(pid)).toBeGreaterThanOrEqual(open + 3), {
        timeout: 30_000,
      });
      // The connections of the load and this one were open before.
      await some(load, 20);
      await requests.must({ path: configMaps });
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:${hard}`]);
      for (const socket of sockets) socket.destroy();
      await eventually(
        async () => {
          using fresh = new Requests(cluster);
          await fresh.must({ path: configMaps });
        },
        { timeout: 60_000 },
      );
      await some(load, 20);
    });
    expect(result.problems).toEqual([]);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  expect(cluster.process.running).toBe(true);
}, 240_000);

test('a clock that jumps by an hour, ahead and back, disturbs neither writes nor watches', async () => {
  let clock = '';
  const setClock = (ms: number): void => writeFileSync(clock, String(ms));
  const preload = join(import.meta.dirname, '..', 'harness', 'shift-clock.mjs');
  const file = join('/tmp', `multiplane-clock-${process.pid}`);
  clock = file;
  setClock(0);
  try {
    await using cluster = await LocalCluster.start({
      env: { NODE_OPTIONS: `--import=${preload}`, MULTIPLANE_TEST_CLOCK: file },
    });
    using requests = new Requests(cluster);
    const hour = 3_600_000;
    const created = async (name: string): Promise<number> => {
      const { json } = await requests.must({ method: 'POST', path: configMaps, body: configMap(name) });
      return Date.parse((json['metadata'] as { creationTimestamp: string }).creationTimestamp) - Date.now();
    };
    const result = await checkDuring(cluster, 'clock', async (load) => {
      for (const [i, ms] of [hour, 0, -hour, 0].entries()) {
        setClock(ms);
        // The jump has happened.
        await eventually(
          async () => expect(Math.abs((await created(`at-${i}-${Date.now()}`)) - ms)).toBeLessThan(hour / 2),
          {
            timeout: 30_000,
          },
        );
        await some(load, 30);
        await eventually(async () => expect((await requests.send({ path: '/readyz' })).status).toBe(200), {
          timeout: 30_000,
        });
      }
    });
    expect(result.problems).toEqual([]);
    expect(result.events).toBeGreaterThan(20);
    // Controllers go on after the jumps: a namespace is deleted with its content.
    const namespaces = '/clusters/root/api/v1/namespaces';
    await requests.must({
      method: 'POST',
      path: namespaces,
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'after-jumps' } },
    });
    await requests.must({ method: 'DELETE', path: `${namespaces}/after-jumps` });
    await eventually(
      async () => expect((await requests.send({ path: `${namespaces}/after-jumps` })).status).toBe(404),
      {
        timeout: 60_000,
      },
    );
  } finally {
    rmSync(file, { force: true });
  }
}, 240_000);
