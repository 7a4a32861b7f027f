import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { EtcdServer, eventually, ProcessInfo, TcpProxy } from '@multiplane/testing';
import { LocalCluster } from '../../harness/local-cluster.ts';
import { crash, freeze } from './process-faults.ts';

/** What the faults of one run act on. */
export interface FaultTarget {
  readonly cluster: LocalCluster;
  /** With the backend etcd: the server, and the proxy through which the control plane reaches it. */
  readonly etcd: EtcdServer | undefined;
  readonly proxy: TcpProxy | undefined;
  /** The file from which the control plane's clock takes its offset in milliseconds. */
  readonly clockFile: string;
}

export interface Fault {
  readonly description: string;
  /** Needs the backend etcd, or root and an embedded store; default nothing. */
  readonly needs?: 'etcd' | 'disk' | undefined;
  /** Injects the fault and resolves when it is over and the control plane is ready again. */
  readonly inject: (target: FaultTarget) => Promise<void>;
}

const briefMs = 2000;
const stallMs = 12_000;
const hourMs = 3_600_000;
const preload = join(import.meta.dirname, '..', '..', 'harness', 'shift-clock.mjs');
const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

async function status(cluster: LocalCluster, path: string): Promise<number> {
  const transport = cluster.transport('shard-base');
  try {
    const response = await transport.open({ method: 'GET', path });
    response.resume();
    return response.statusCode ?? 0;
  } finally {
    transport.close();
  }
}

async function untilReady({ cluster }: FaultTarget): Promise<void> {
  await eventually(
    async () => {
      const code = await status(cluster, '/readyz').catch((error: { code?: number }) => error.code ?? 0);
      if (code !== 200) throw new Error(`/readyz answers ${code}`);
    },
    { timeout: 120_000 },
  );
}

function etcdOf({ etcd }: FaultTarget): EtcdServer {
  if (etcd === undefined) throw new Error('the fault needs etcd');
  return etcd;
}

/** The faults of `hack/faults` that one process and its etcd can have, by name. */
export const faults: Readonly<Record<string, Fault>> = {
  kill: { description: 'kill -9, and a start', inject: ({ cluster }) => crash(cluster.process)() },
  freeze: { description: 'SIGSTOP for two seconds', inject: ({ cluster }) => freeze(cluster.process)() },
  stall: {
    description: 'SIGSTOP for twelve seconds: readiness fails afterwards, liveness does not',
    inject: async (target) => {
      const { process } = target.cluster;
      await process.freeze();
      await pause(stallMs);
      process.thaw();
      const live = await status(target.cluster, '/livez');
      if (live !== 200) throw new Error(`/livez answers ${live} after a stall`);
      await untilReady(target);
    },
  },
  clock: {
    description: 'the clock jumps an hour ahead or back, and returns',
    inject: async (target) => {
      for (const offset of [Math.random() < 0.5 ? hourMs : -hourMs, 0]) {
        writeFileSync(target.clockFile, String(offset));
        await pause(briefMs);
      }
      await untilReady(target);
    },
  },
  descriptors: {
    description: 'no file descriptor is left for two seconds',
    inject: async (target) => {
      const { cluster } = target;
      const pid = String(cluster.process.pid);
      const limit = (...flags: readonly string[]): string =>
        execFileSync('prlimit', ['--pid', pid, ...flags], { encoding: 'utf8' });
      const [soft, hard] = limit('--nofile', '--output=SOFT,HARD', '--noheadings').trim().split(/\s+/);
      limit(`--nofile=${new ProcessInfo().openFiles(Number(pid)) + 3}:${hard}`);
      const sockets = Array.from({ length: 40 }, () => connect(cluster.port, '127.0.0.1').on('error', () => undefined));
      await pause(briefMs);
      limit(`--nofile=${soft}:${hard}`);
      for (const socket of sockets) socket.destroy();
      await untilReady(target);
    },
  },
  'disk-full': {
    description: 'the disk of the store is full for two seconds (as root)',
    needs: 'disk',
    inject: async (target) => {
      const root = target.cluster.path('root');
      const ballast = (i: number): string => join(root, `ballast-${i}`);
      try {
        for (let i = 0; ; i++) writeFileSync(ballast(i), Buffer.alloc(1 << 20));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      await pause(briefMs);
      for (const file of readdirSync(root)) if (file.startsWith('ballast-')) rmSync(join(root, file));
      await untilReady(target);
    },
  },
  'etcd-kill': {
    description: 'kill -9 of etcd, and a start',
    needs: 'etcd',
    inject: (target) => crash(etcdOf(target).process)(),
  },
  'etcd-freeze': {
    description: 'SIGSTOP of etcd for two seconds',
    needs: 'etcd',
    inject: (target) => freeze(etcdOf(target).process)(),
  },
  'etcd-slow': {
    description: 'each message to and from etcd takes 150 ms more, for two seconds',
    needs: 'etcd',
    inject: async ({ proxy }) => {
      proxy?.delay(150);
      await pause(briefMs);
      proxy?.delay(0);
    },
  },
  'etcd-cut': {
    description: 'no connection to etcd for two seconds, and a compaction up to its latest revision meanwhile',
    needs: 'etcd',
    inject: async (target) => {
      target.proxy?.refuse();
      const etcd = etcdOf(target);
      const { header } = (await etcd.gateway('maintenance/status', {})) as { header: { revision: string } };
      await etcd.gateway('kv/compaction', { revision: header.revision, physical: true });
      await pause(briefMs);
      target.proxy?.accept();
      await untilReady(target);
    },
  },
  'etcd-full': {
    description: 'etcd raises the alarm NOSPACE for two seconds',
    needs: 'etcd',
    inject: async (target) => {
      const etcd = etcdOf(target);
      const { header } = (await etcd.gateway('maintenance/status', {})) as { header: { member_id: string } };
      const alarm = { memberID: header.member_id, alarm: 'NOSPACE' };
      await etcd.gateway('maintenance/alarm', { ...alarm, action: 'ACTIVATE' });
      await pause(briefMs);
      await etcd.gateway('maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
      await untilReady(target);
    },
  },
};

/** The names of the faults that a backend can have; those for root are left out for other users. */
export function possibleFaults(backend: string): string[] {
  const isRoot = process.getuid?.() === 0;
  return Object.entries(faults).flatMap(([name, { needs }]) =>
    needs === undefined || (needs === 'etcd' ? backend === 'etcd' : backend === 'file' && isRoot) ? [name] : [],
  );
}

/** Starts a control plane for some faults, with what they need; `stop` removes everything. */
export async function startTarget(
  backend: string,
  names: readonly string[],
): Promise<FaultTarget & { readonly stop: () => Promise<void> }> {
  const etcd = backend === 'etcd' ? await EtcdServer.start() : undefined;
  const proxy = etcd === undefined ? undefined : await TcpProxy.start(etcd.port);
  const flags =
    proxy === undefined ? [`--storage-backend=${backend}`] : ['--etcd-servers', `http://127.0.0.1:${proxy.port}`];
  const clockFile = join('/tmp', `multiplane-faults-clock-${process.pid}`);
  writeFileSync(clockFile, '0');
  let disk: string | undefined;
  const cluster = await LocalCluster.start({
    flags,
    // A crowded machine is not a fault: a start may take its time.
    startTimeout: 300_000,
    env: names.includes('clock') ? { NODE_OPTIONS: `--import=${preload}`, MULTIPLANE_TEST_CLOCK: clockFile } : {},
    prepare: (root) => {
      if (!names.includes('disk-full')) return;
      mkdirSync(root, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', root]);
      disk = root;
    },
  });
  return {
    cluster,
    etcd,
    proxy,
    clockFile,
    stop: async () => {
      await cluster.process.kill();
      if (disk !== undefined) execFileSync('umount', ['--lazy', disk]);
      await cluster[Symbol.asyncDispose]();
      await proxy?.[Symbol.asyncDispose]();
      await etcd?.[Symbol.asyncDispose]();
      rmSync(clockFile, { force: true });
    },
  };
}
