import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { eventually, findBinary } from '@multiplane/testing';
import { localPlace } from '../../hack/cluster/local-place.ts';
import { topology, type Place } from '../../hack/cluster/topology.ts';
import type { ControlPlane } from './control-plane.ts';
import { optionalApis } from './local-cluster.ts';
import type { ClusterRecord, ShardedClusterOptions } from './sharded-cluster.ts';
import { ShardedAccess } from './sharded-access.ts';
import { webhooksHere } from './webhook-server.ts';

const repository = join(import.meta.dirname, '..', '..');
const workspaces = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';

/** Revisions of the keys of each shard's etcd. */
type Stores = readonly (readonly (readonly [key: string, revision: number])[])[];

/** Plain data: it survives the modules of a suite. */
interface Kept {
  /** Of the process that runs the control plane. */
  readonly keeper: number;
  readonly record: ClusterRecord;
  /** Before the first suite. */
  readonly stores: Stores;
}

const usual = [...webhooksHere, ...optionalApis];

/** Options by which suites with different flags share a control plane: servers always get those that no suite minds. */
const normalised = ({ flags = [], frontProxyFlags = [], ...others }: ShardedClusterOptions): ShardedClusterOptions => ({
  ...others,
  flags: withUsual(usual, flags),
  frontProxyFlags: withUsual(optionalApis, frontProxyFlags),
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
 * A sharded control plane that suites of one jest worker use one after the other: nine processes take ten seconds of processor
 * time to start. A process of its own runs it, see `cluster-keeper.ts`, and ends with the worker.
 *
 * Each suite finds it as the first one did: at its end the workspaces below root are deleted, and then every key of every
 * etcd has the revision that it had in the beginning, but for leases, events, what controllers keep current, and CRDs of
 * bindings, which are deleted later. A control plane in which anything else is left or changed is not used again.
 */
export class KeptCluster extends ShardedAccess implements ControlPlane {
  readonly #key: string;
  readonly #kept: Kept;
  private constructor(key: string, kept: Kept) {
    super(kept.record.directory, placeOf(kept.record));
    this.#key = key;
    this.#kept = kept;
  }

  /** One with these options that an earlier suite has left, or a new one. */
  static async start(options: ShardedClusterOptions): Promise<KeptCluster> {
    const key = JSON.stringify(normalised(options));
    const { [key]: found, ...others } = keptOnes();
    setEnvironmentData(register, others);
    if (found !== undefined && isAlive(found.keeper)) return new KeptCluster(key, found);
    const { keeper, record } = await startKeeper(key);
    try {
      return new KeptCluster(key, { keeper, record, stores: await settled(record) });
    } catch (error) {
      process.kill(keeper);
      throw error;
    }
  }

  /** Ends those that no suite uses now: an idle one takes a tenth of a processor. */
  static endAll(): void {
    for (const { keeper } of Object.values(keptOnes())) if (isAlive(keeper)) process.kill(keeper);
    setEnvironmentData(register, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#clean();
    } catch (error) {
      process.stderr.write(`A control plane is not used again: ${(error as Error).message}\n`);
      process.kill(this.#kept.keeper);
      return;
    }
    const all = Object.entries({ ...keptOnes(), [this.#key]: this.#kept });
    for (const [, { keeper }] of all.slice(0, -mostKept)) process.kill(keeper);
    setEnvironmentData(register, Object.fromEntries(all.slice(-mostKept)) as never);
  }

  async #clean(): Promise<void> {
    const admin = this.transport('shard-base');
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
    const { record, stores } = this.#kept;
    await eventually(
      async () => {
        const left = differences(stores, await read(record));
        if (left.length > 0) throw new Error(`${left.length} keys differ, as ${left.slice(0, 3).join(', ')}`);
      },
      { timeout: 10_000, interval: 200 },
    );
  }
}

const placeOf = ({ directory, shards, ports }: ClusterRecord): Place => localPlace({ directory, shards, ports });

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function startKeeper(options: string): Promise<{ readonly keeper: number; readonly record: ClusterRecord }> {
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
  return { keeper: child.pid as number, record: JSON.parse(record) as ClusterRecord };
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: stdout as NodeJS.ReadableStream })) return line;
  return undefined;
}

/** The keys of all shards once two reads in a row agree: controllers are done with the start. */
async function settled(record: ClusterRecord): Promise<Stores> {
  let last = await read(record);
  await eventually(
    async () => {
      const now = await read(record);
      const changed = differences(last, now);
      last = now;
      if (changed.length > 0) throw new Error(`a new control plane does not come to rest: ${changed.join(', ')}`);
    },
    { timeout: 30_000, interval: 300 },
  );
  return last;
}

async function read(record: ClusterRecord): Promise<Stores> {
  const processes = topology(placeOf(record));
  const pki = (...names: string[]): string => join(record.directory, 'pki', ...names);
  return Promise.all(
    record.shards.map(async (shard) => {
      const port = processes.find(({ name }) => name === `etcd-${shard}`)?.port as number;
      const credentials = [
        `--cacert=${pki('storage-ca.crt')}`,
        `--cert=${pki('storage-client', 'tls.crt')}`,
        `--key=${pki('storage-client', 'tls.key')}`,
      ];
      const { stdout } = await promisify(execFile)(
        findBinary('etcdctl'),
        [
          `--endpoints=https://127.0.0.1:${port}`,
          ...credentials,
          'get',
          '',
          '--from-key',
          '--keys-only',
          '--write-out=json',
        ],
        { maxBuffer: 1 << 28, env: { ETCDCTL_API: '3' } },
      );
      const { kvs } = JSON.parse(stdout) as {
        readonly kvs: readonly { readonly key: string; readonly mod_revision: number }[];
      };
      return kvs.map(({ key, mod_revision: revision }) => [Buffer.from(key, 'base64').toString(), revision] as const);
    }),
  );
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
