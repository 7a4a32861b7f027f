import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clientConfigOf, readKubeconfig, RestTransport, type ClientConfig } from '@multiplane/client';
import { ChildServer, findBinary, freePorts, TempDir } from '@multiplane/testing';
import { askHealth } from '../../hack/cluster/health.ts';
import { localPlace, preparePlace } from '../../hack/cluster/local-place.ts';
import {
  pkiArguments,
  portNames,
  topology,
  urlsOf,
  type ClusterProcess,
  type Place,
} from '../../hack/cluster/topology.ts';
import type { ContextName, ControlPlane } from './control-plane.ts';
import { testTokens, tokenFileText, type LocalClusterOptions } from './local-cluster.ts';

const repository = join(import.meta.dirname, '..', '..');
const multiplane = join(repository, 'bin', 'multiplane');
const adminToken = 'kcp-admin-token';

export interface ShardedClusterOptions extends LocalClusterOptions {
  /** The first one is `root`; default two. */
  readonly shards?: readonly string[] | undefined;
  /** With the front-proxy's usual patience for shards that do not answer, instead of one for crowded machines. */
  readonly usualPatience?: boolean | undefined;
  /** Further flags of every server of ours. */
  readonly allFlags?: readonly string[] | undefined;
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
export class ShardedCluster implements ControlPlane {
  readonly #directory: TempDir;
  readonly #place: Place;
  readonly #servers: ReadonlyMap<string, ChildServer>;
  readonly #planned: readonly ClusterProcess[];
  private constructor(directory: TempDir, place: Place) {
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
    allFlags = [],
    tokens,
  }: ShardedClusterOptions): Promise<ShardedCluster> {
    const directory = await TempDir.create('sharded');
    const tokenFile = directory.join('tokens.csv');
    writeFileSync(
      tokenFile,
      `${tokenFileText(tokens)}${adminToken},kcp-admin,3a7c2f1e-5b0d-4c8e-9f66-1d2e3f405162,"system:kcp:admin"\n`,
    );
    const chosen = localPlace({
      directory: directory.path,
      shards,
      ports: await freePorts(portNames(shards).length),
      flags: {
        shard: [`--token-auth-file=${tokenFile}`, ...flags, ...allFlags],
        'front-proxy': [...(usualPatience ? [] : patience), ...allFlags],
        'cache-server': allFlags,
        'virtual-workspaces': allFlags,
      },
    });
    const cluster = new ShardedCluster(directory, chosen);
    await cluster.initPki();
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
  get shards(): readonly string[] {
    return this.#place.shards;
  }
  get url(): string {
    return this.#place.externalUrl;
  }
  get port(): number {
    return this.#planned.find(({ name }) => name === 'front-proxy')?.port as number;
  }
  get kubeconfig(): string {
    return this.path('pki', 'admin.kubeconfig');
  }
  get ca(): string {
    return readFileSync(this.path('pki', 'serving-ca.crt'), 'utf8');
  }
  get adminToken(): string {
    return adminToken;
  }
  path(...parts: string[]): string {
    return this.#directory.join(...parts);
  }

  config(context: ContextName): ClientConfig {
    if (context === 'root' || context === 'base')
      return clientConfigOf(readKubeconfig(this.kubeconfig), this.kubeconfig, context);
    return { server: this.url, ca: this.ca, token: testTokens.masters };
  }

  transport(as: ContextName | { readonly token: string }): RestTransport {
    const config = typeof as === 'string' ? this.config(as) : { server: this.url, ca: this.ca, token: as.token };
    return new RestTransport({ config, userAgent: 'multiplane-e2e' });
  }

  /** To one shard itself, with every right. */
  shardTransport(shard: string): RestTransport {
    const file = this.path('pki', `shard-${shard}.kubeconfig`);
    return new RestTransport({
      config: clientConfigOf(readKubeconfig(file), file, 'shard-base'),
      userAgent: 'multiplane-e2e',
    });
  }

  get rootShard(): Pick<ControlPlane, 'url' | 'ca'> {
    return { url: urlsOf(this.#place).shards['root'] as string, ca: this.ca };
  }

  shardTransports(): RestTransport[] {
    return this.shards.map((shard) => this.shardTransport(shard));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.kill()));
    await this.#directory.remove();
  }
}
