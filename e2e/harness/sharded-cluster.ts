import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ChildServer, findBinary, freePorts, TempDir } from '@multiplane/testing';
import {
  askHealth,
  type ClusterProcess,
  localPlace,
  pkiArguments,
  type Place,
  portNames,
  preparePlace,
  topology,
} from '../../packages/multiplane/src/topology/index.ts';
import type { ControlPlane } from './control-plane.ts';
import { tokenFileText, type LocalClusterOptions } from './local-cluster.ts';
import { adminToken, ShardedAccess } from './sharded-access.ts';

const repository = join(import.meta.dirname, '..', '..');
const multiplane = join(repository, 'bin', 'multiplane');
const readText = (file: string): string => readFileSync(file, 'utf8');

export interface ShardedClusterOptions extends LocalClusterOptions {
  /** The first one is `root`; default two. */
  readonly shards?: readonly string[] | undefined;
  /** With the front-proxy's usual patience for shards that do not answer, instead of one for crowded machines. */
  readonly usualPatience?: boolean | undefined;
  /** No other suite uses it: this one kills its processes, leaves more than workspaces in it, or has flags of its own; false by default. */
  readonly ownProcesses?: boolean | undefined;
  /** Further flags of the front-proxy. */
  readonly frontProxyFlags?: readonly string[] | undefined;
  /** Further flags of the cache server. */
  readonly cacheServerFlags?: readonly string[] | undefined;
  /** With the web console as a process, and these flags. */
  readonly consoleFlags?: readonly string[] | undefined;
  /** Further flags of every server of ours but the console. */
  readonly allFlags?: readonly string[] | undefined;
  /** Further entries of the front-proxy's mapping file. */
  readonly mappings?: Place['mappings'];
  /** A PEM file: all servers accept client certificates of this authority, too. */
  readonly extraClientCa?: string | undefined;
}

/** Where a control plane is: enough for another process to use it. */
export interface ClusterRecord {
  readonly directory: string;
  readonly shards: readonly string[];
  /** In the order of `portNames`. */
  readonly ports: readonly number[];
}

/** Suites share two processors with all these processes: a shard that is late is not dead. */
const patience = [
  '--upstream-connect-timeout=10s',
  '--upstream-silence-timeout=10s',
  '--upstream-probe-timeout=10s',
] as const;

/**
 * A sharded control plane as `make up PROFILE=sharded` runs it: the same processes with the same flags, on free ports, in
 * a folder of its own. Each process can be killed, frozen and restarted.
 */
export class ShardedCluster extends ShardedAccess implements ControlPlane {
  readonly #directory: TempDir;
  readonly #place: Place;
  readonly #servers: ReadonlyMap<string, ChildServer>;
  readonly #planned: readonly ClusterProcess[];
  /** For processes that did not start it. */
  readonly record: ClusterRecord;
  private constructor(directory: TempDir, place: Place, record: ClusterRecord) {
    super(directory.path, place);
    this.record = record;
    this.#directory = directory;
    this.#place = place;
    this.#planned = topology(place);
    this.#servers = new Map(
      this.#planned.map((planned) => [
        planned.name,
        new ChildServer({
          name: planned.name,
          command: planned.program === 'multiplane' ? multiplane : findBinary(planned.program),
          args: planned.args,
          startTimeout: 90_000,
          logFile: directory.join(`${planned.name}.log`),
          probe: async () => {
            const said = await askHealth(planned.health);
            if (said !== 'ready') throw new Error(said);
          },
          // NATS 2.9 dies of a read that comes in the moment in which a stream is being made.
          supervised: planned.name === 'nats',
        }),
      ]),
    );
  }

  /** Starts one; retries with other ports when the first ones were taken meanwhile. */
  static async start(options: ShardedClusterOptions = {}): Promise<ShardedCluster> {
    for (let attempt = 1; ; attempt++) {
      const cluster = await ShardedCluster.#prepare(options);
      try {
        await cluster.#startAll();
        return cluster;
      } catch (error) {
        const isPortTaken = [...cluster.#servers.values()].some(({ output }) => /address already in use/i.test(output));
        await cluster[Symbol.asyncDispose]();
        if (attempt === 3 || !isPortTaken) throw error;
      }
    }
  }

  static async #prepare({
    shards = ['root', 'shard-1'],
    usualPatience = false,
    flags = [],
    frontProxyFlags = [],
    cacheServerFlags = [],
    consoleFlags,
    allFlags = [],
    nativeKinds = false,
    mappings,
    extraClientCa,
    tokens,
  }: ShardedClusterOptions): Promise<ShardedCluster> {
    const directory = await TempDir.create('sharded');
    const tokenFile = directory.join('tokens.csv');
    const bundle = directory.join('client-cas.crt');
    const ofAll = extraClientCa === undefined ? allFlags : [`--client-ca-file=${bundle}`, ...allFlags];
    writeFileSync(
      tokenFile,
      `${tokenFileText(tokens)}${adminToken},kcp-admin,3a7c2f1e-5b0d-4c8e-9f66-1d2e3f405162,"system:kcp:admin"\n`,
      { mode: 0o600 },
    );
    const record = { directory: directory.path, shards, ports: await freePorts(portNames(shards).length) };
    const chosen = localPlace({
      ...record,
      mappings,
      ...(nativeKinds ? {} : { batteries: ['workspace-types'] }),
      hasConsole: consoleFlags !== undefined,
      flags: {
        shard: [`--token-auth-file=${tokenFile}`, ...flags, ...ofAll],
        'front-proxy': [...(usualPatience ? [] : patience), ...frontProxyFlags, ...ofAll],
        'cache-server': [...cacheServerFlags, ...ofAll],
        'virtual-workspaces': ofAll,
        console: consoleFlags ?? [],
      },
    });
    const cluster = new ShardedCluster(directory, chosen, record);
    await cluster.initPki();
    if (extraClientCa !== undefined)
      writeFileSync(bundle, [cluster.path('pki', 'client-ca.crt'), extraClientCa].map(readText).join('\n'));
    preparePlace(chosen);
    return cluster;
  }

  /** Makes the certificates, or what is missing of them; with `--renew` all of them anew. */
  async initPki(...flags: readonly string[]): Promise<void> {
    await promisify(execFile)(multiplane, [...pkiArguments(this.#place), ...flags]);
  }

  async #startAll(): Promise<void> {
    const started = new Map<string, Promise<void>>();
    for (const { name, needs } of this.#planned) {
      const needed = needs.map((other) => started.get(other) as Promise<void>);
      started.set(
        name,
        Promise.all(needed).then(() => this.process(name).start()),
      );
    }
    const failures = (await Promise.allSettled(started.values())).flatMap((result) =>
      result.status === 'rejected' ? [result.reason as Error] : [],
    );
    if (failures[0] !== undefined) throw failures[0];
  }

  /** One of its processes: `front-proxy`, `shard-root`, `etcd-shard-1`, … */
  process(name: string): ChildServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`there is no process ${name}; there are ${this.processes.join(', ')}`);
    return server;
  }

  /** Names of all processes, each after those it needs. */
  get processes(): readonly string[] {
    return this.#planned.map(({ name }) => name);
  }
  /** Where each process listens. */
  get ports(): readonly { readonly name: string; readonly port: number }[] {
    return this.#planned;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.kill()));
    await this.#directory.remove();
  }
}
