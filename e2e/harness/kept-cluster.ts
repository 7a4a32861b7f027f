import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import type { RestTransport } from '@multiplane/client';
import { SnapshotDecoder } from '@multiplane/storage/snapshot-format';
import { eventually } from '@multiplane/testing';
import { localPlace } from '../../packages/multiplane/src/topology/index.ts';
import type { ControlPlane } from './control-plane.ts';
import { LocalAccess, type LocalRecord } from './local-access.ts';
import { optionalApis } from './local-cluster.ts';
import type { ClusterRecord, ShardedClusterOptions } from './sharded-cluster.ts';
import { ShardedAccess } from './sharded-access.ts';
import { webhooksHere } from './webhook-server.ts';

const repository = join(import.meta.dirname, '..', '..');
const workspaces = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';

/** Revisions of the keys of each shard. */
type Stores = readonly (readonly (readonly [key: string, revision: number])[])[];

/** What a keeper prints about the control plane that it runs. */
export type KeptRecord = { readonly sharded: ClusterRecord } | { readonly local: LocalRecord };
/** What a keeper is to run. */
export interface KeeperOptions {
  readonly isSharded: boolean;
  readonly options: ShardedClusterOptions;
}

/** Plain data: it survives the modules of a suite. */
interface Kept {
  /** Of the process that runs the control plane. */
  readonly keeper: number;
  readonly record: KeptRecord;
  /** Before the first suite. */
  readonly stores: Stores;
}

type Access = Omit<ControlPlane, keyof AsyncDisposable>;
const accessTo = (record: KeptRecord): Access =>
  'local' in record
    ? new LocalAccess(record.local)
    : new ShardedAccess(record.sharded.directory, localPlace(record.sharded));

const usual = [...webhooksHere, ...optionalApis];

/** Options by which suites with different flags share a control plane: servers always get those that no suite minds. */
const normalised = ({ flags = [], frontProxyFlags = [], ...others }: ShardedClusterOptions): ShardedClusterOptions => ({
  ...others,
  flags: withUsual(usual, flags),
  frontProxyFlags: withUsual(optionalApis, frontProxyFlags),
});

/**
 * The same of one process, without what is about shards. It connects to mounts itself, so it may reach this machine only where
 * a suite asks for that; on shards the front-proxy does.
 */
const normalisedLocal = ({ flags = [], tokens, nativeKinds }: ShardedClusterOptions): ShardedClusterOptions => ({
  tokens,
  nativeKinds,
  flags: withUsual(optionalApis, flags),
});

const withUsual = (first: readonly string[], flags: readonly string[]): readonly string[] => [
  ...first,
  ...flags.filter((flag) => !first.includes(flag)),
];

/** With other options than these the control planes of a worker are rarely asked for twice. */
const mostKept = 2;
const register = 'multiplane: kept control planes';
const keptOnes = (): Readonly<Record<string, Kept>> =>
  (getEnvironmentData(register) ?? {}) as unknown as Readonly<Record<string, Kept>>;

/**
 * A control plane that suites of one jest worker use one after the other: the nine processes of a sharded one take ten seconds
 * of processor time to start, and one process a second until its code is compiled. A process of its own runs it, see
 * `cluster-keeper.ts`, and ends with the worker.
 *
 * Each suite finds it as the first one did: at its end the workspaces below root are deleted, and then every key of every
 * shard has the revision that it had in the beginning, but for leases, events, what controllers keep current, and CRDs of
 * bindings, which are deleted later. A control plane in which anything else is left or changed is not used again.
 */
export async function useKeptCluster({ isSharded, options }: KeeperOptions): Promise<ControlPlane> {
  const key = JSON.stringify({ isSharded, options: (isSharded ? normalised : normalisedLocal)(options) });
  const { [key]: found, ...others } = keptOnes();
  setEnvironmentData(register, others);
  const kept = found !== undefined && isAlive(found.keeper) ? found : await startKept(key);
  return Object.assign(accessTo(kept.record), { [Symbol.asyncDispose]: () => giveBack(key, kept) });
}

/** Ends those of a topology that no suite uses now: an idle sharded one takes a tenth of a processor. */
export function endKeptClusters({ isSharded }: Pick<KeeperOptions, 'isSharded'>): void {
  const isEnded = ({ record }: Kept): boolean => 'sharded' in record === isSharded;
  const [ended, others] = [true, false].map((end) =>
    Object.entries(keptOnes()).filter(([, one]) => isEnded(one) === end),
  );
  for (const [, { keeper }] of ended ?? []) if (isAlive(keeper)) process.kill(keeper);
  setEnvironmentData(register, Object.fromEntries(others ?? []) as never);
}

async function startKept(key: string): Promise<Kept> {
  const { keeper, record } = await startKeeper(key);
  try {
    return { keeper, record, stores: await settled(record) };
  } catch (error) {
    process.kill(keeper);
    throw error;
  }
}

async function giveBack(key: string, kept: Kept): Promise<void> {
  try {
    await clean(kept);
  } catch (error) {
    process.stderr.write(`A control plane is not used again: ${(error as Error).message}\n`);
    process.kill(kept.keeper);
    return;
  }
  const all = Object.entries({ ...keptOnes(), [key]: kept });
  for (const [, { keeper }] of all.slice(0, -mostKept)) process.kill(keeper);
  setEnvironmentData(register, Object.fromEntries(all.slice(-mostKept)) as never);
}

async function clean({ record, stores }: Kept): Promise<void> {
  const admin = accessTo(record).transport('shard-base');
  try {
    const { items } = (await admin.json({ method: 'GET', path: workspaces })) as unknown as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    await Promise.all(
      items.map(({ metadata: { name } }) => admin.json({ method: 'DELETE', path: `${workspaces}/${name}` })),
    );
  } finally {
    admin.close();
  }
  await eventually(
    async () => {
      const left = differences(stores, await read(record));
      if (left.length > 0) throw new Error(`${left.length} keys differ, as ${left.slice(0, 3).join(', ')}`);
    },
    { timeout: 10_000, interval: 200 },
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function startKeeper(options: string): Promise<{ readonly keeper: number; readonly record: KeptRecord }> {
  const program = [
    '/usr/bin/env',
    // Half of the processor time that the keeper itself takes is for removing types.
    `NODE_COMPILE_CACHE=${join(repository, '.cache', 'node')}`,
    join(repository, 'hack', 'node'),
    '-C',
    'multiplane-source',
    join(import.meta.dirname, 'cluster-keeper.ts'),
  ];
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@"', ...program, options], { stdio: ['pipe', 'pipe', 'inherit'] });
  const record = await Promise.race([firstLine(child), once(child, 'exit').then(() => undefined)]);
  if (record === undefined) throw new Error(`the control plane did not start: exit code ${child.exitCode}`);
  // The keeper ends when this process does, which closes its standard input; until then it keeps nothing alive here.
  child.stdout.destroy();
  (child.stdin as unknown as { unref(): void }).unref();
  child.unref();
  return { keeper: child.pid as number, record: JSON.parse(record) as KeptRecord };
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: stdout as NodeJS.ReadableStream })) return line;
  return undefined;
}

/** Reads of a new control plane that have to agree, one after the other. */
const readsAtRest = 5;

/** The keys of all shards once controllers are done with the start: several reads in a row agree. */
async function settled(record: KeptRecord): Promise<Stores> {
  let last = await read(record);
  let agreed = 1;
  await eventually(
    async () => {
      const now = await read(record);
      const changed = differences(last, now);
      last = now;
      agreed = changed.length > 0 ? 1 : agreed + 1;
      if (agreed < readsAtRest) throw new Error(`a new control plane does not come to rest: ${changed.join(', ')}`);
    },
    { timeout: 60_000, interval: 400 },
  );
  return last;
}

function read(record: KeptRecord): Promise<Stores> {
  return Promise.all(accessTo(record).shardTransports().map(keysOf));
}

/** Through the snapshot of a shard: of any storage backend, without a process of its own. */
async function keysOf(shard: RestTransport): Promise<Stores[number]> {
  try {
    const decoder = new SnapshotDecoder(
      (await shard.open({ method: 'GET', path: '/snapshot', longRunning: true })) as AsyncIterable<Buffer>,
    );
    await decoder.header();
    const keys: (readonly [string, number])[] = [];
    for await (const { key, revision } of decoder.records()) keys.push([key, revision]);
    return keys;
  } finally {
    shard.close();
  }
}

const maintained = [
  /\/!\w+$/,
  /\/(coordination\.k8s\.io\/leases|events\.k8s\.io\/events|events|apiexportendpointslices)\//,
  /\/system:bound-crds\//,
];
const isMaintained = (key: string): boolean => maintained.some((pattern) => pattern.test(key));

/** Keys that are in one only, or that have changed. */
function differences(before: Stores, after: Stores): string[] {
  return before.flatMap((store, shard) => {
    const old = new Map(store.filter(([key]) => !isMaintained(key)));
    const now = new Map((after[shard] ?? []).filter(([key]) => !isMaintained(key)));
    return [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key));
  });
}
