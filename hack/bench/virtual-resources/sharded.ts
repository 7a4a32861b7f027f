import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { KubeObject } from '@multiplane/apimachinery';
import type { APIBinding } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { ShardedCluster } from '../../../e2e/harness/sharded-cluster.ts';
import { atRate, get, many, post, readyWorkspaces, until } from '../load.ts';
import { report } from '../report.ts';
import { WatchTimes } from '../watch-times.ts';
import { getPerCore } from './get-per-core.ts';
import {
  bind,
  bindAll,
  bindingsPath,
  createDefinition,
  isServed,
  objectOf,
  objectsPath,
  publish,
  update,
} from './provider.ts';
import { perProcess, quiet, usageOf, type Usage } from './usage.ts';

/*
 * Virtual resources in a sharded control plane: the provider on the root shard, a thousand consumers on the other. Every
 * request passes the front-proxy, the shard and its virtual-workspaces process, as those of users do. Nine processes and
 * the client share the processors of this machine, so the notes tell the processor time of each.
 *
 * `flavors` are few; `images` are 10,000 of 1 KiB.
 */
const consumers = 1_000;
const flavors = 20;
const images = 10_000;
const imageBytes = 1_024;
const clients = 16;
/** The first ones run code that is not compiled yet. */
const newConsumers = { count: 200, perSecond: 20, warmUp: 20 };
const writes = { count: 500, perSecond: 50 };
/** Objects of which a consumer reads a page while memory is measured. */
const page = 500;
/** At the memory of a process: what a request has just left goes with one of the next collections. */
const looks = 3;

export async function measureSharded(): Promise<void> {
  // All processes of the control plane collect garbage on a signal.
  const folder = await mkdtemp(join(tmpdir(), 'multiplane-bench-virtual-'));
  process.env['BENCH_MEMORY_FILE'] = join(folder, 'memory.json');
  process.env['NODE_OPTIONS'] = `--import=${join(import.meta.dirname, '..', 'api', 'collect-on-signal.mjs')}`;
  // Its user has the limits of any other, and GET per core is measured at the speed of the servers.
  const cluster = await ShardedCluster.start({ flags: ['--workspace-max-requests-per-second=0'] });
  const bench = new ShardedBench(cluster, join(folder, 'memory.json'));
  try {
    await bench.prepare();
    await bench.newConsumer();
    await bench.delay();
    await bench.get();
    await bench.memory();
  } finally {
    bench.close();
    await cluster[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    process.env['NODE_OPTIONS'] = '';
  }
}

interface ImageEvent {
  readonly object: KubeObject & { readonly spec: { readonly step: number } };
}

class ShardedBench {
  readonly #cluster: ShardedCluster;
  readonly #memoryFile: string;
  readonly #transport: RestTransport;
  /** To the shard of the consumers. */
  readonly #far: RestTransport;
  #provider = '';
  #consumers: readonly string[] = [];

  constructor(cluster: ShardedCluster, memoryFile: string) {
    this.#cluster = cluster;
    this.#memoryFile = memoryFile;
    this.#transport = cluster.transport('root');
    this.#far = cluster.shardTransport('shard-1');
  }

  close(): void {
    for (const transport of [this.#transport, this.#far]) transport.close();
  }

  async prepare(): Promise<void> {
    const transport = this.#transport;
    const on = (shard: string) => ({ location: { selector: { matchLabels: { name: shard } } } });
    const [provider = ''] = await readyWorkspaces(transport, 'root', {
      count: 1,
      clients: 1,
      prefix: 'provider',
      spec: on('root'),
    });
    const made = readyWorkspaces(transport, 'root', {
      count: consumers,
      clients,
      prefix: 'consumer',
      spec: on('shard-1'),
    });
    for (const plural of ['flavors', 'images']) await createDefinition(transport, provider, plural);
    const create = (plural: string, count: number, bytes: number): Promise<void> =>
      many(count, clients, (n) =>
        post(transport, objectsPath(provider, plural), objectOf(plural, `object-${n}`, bytes)),
      );
    await create('flavors', flavors, 100);
    await create('images', images, imageBytes);
    await publish(transport, provider, 'compute', { flavors, images });
    this.#provider = provider;
    this.#consumers = await made;
    // The first consumer of the shard opens the source of the objects.
    await bind(transport, this.#consumers[0] as string, provider, 'compute');
    await until(() => isServed(transport, objectsPath(this.#consumers[0] as string, 'images?limit=1')));
  }

  /** From the request that creates a binding to the answer to the first list. */
  async newConsumer(): Promise<void> {
    const [transport, provider, clusters] = [this.#transport, this.#provider, this.#consumers];
    const isBound = ({ object }: { readonly object: APIBinding }): string | undefined =>
      object.metadata.name === 'compute' && object.status?.phase === 'Bound'
        ? object.metadata.annotations?.['kcp.io/cluster']
        : undefined;
    const bound = new Map<string, () => void>();
    const path = bindingsPath('*');
    const watch = new WatchTimes<{ readonly object: APIBinding }>(
      {
        path,
        ends: (event) => {
          bound.get(isBound(event) ?? '')?.();
          return undefined;
        },
      },
      { transport: this.#far },
    );
    await watch.open();
    const took: number[] = [];
    let retried = 0;
    const join = async (consumer: string): Promise<void> => {
      const began = performance.now();
      const whenBound = new Promise<void>((resolve) => bound.set(consumer, resolve));
      await bind(transport, consumer, provider, 'compute');
      await whenBound;
      while (!(await isServed(transport, objectsPath(consumer, 'flavors')))) {
        retried += 1;
        await wait(5);
      }
      took.push(performance.now() - began);
    };
    const { count, perSecond, warmUp } = newConsumers;
    await atRate(warmUp, perSecond, (n) => join(clusters[1 + n] as string));
    await quiet(this.#processes());
    took.length = 0;
    retried = 0;
    const before = this.#usage();
    await atRate(count, perSecond, (n) => join(clusters[1 + warmUp + n] as string));
    const after = this.#usage();
    report({
      name: 'virtual resource: binding created to first list answered, p99',
      value: at(took, 0.99),
      unit: 'ms',
      target: { atMost: 300 },
      note: `${newConsumers.count} consumers at ${newConsumers.perSecond}/s, provider on another shard; p50 ${at(took, 0.5).toFixed(0)} ms; ${retried} lists were refused before; processor time for a consumer: ${perProcess(before, after, newConsumers.count)}`,
    });
    watch.close();
  }

  /** From the request of the provider's write to the event in the watch of a consumer on the other shard. */
  async delay(): Promise<void> {
    const [transport, provider, clusters] = [this.#transport, this.#provider, this.#consumers];
    const path = objectsPath(clusters[0] as string, 'images');
    const times = new WatchTimes<ImageEvent>(
      { path, ends: ({ object }) => (object.spec.step === 0 ? undefined : object.metadata.name) },
      { transport },
    );
    const { metadata } = await get<{ metadata: { resourceVersion: string } }>(transport, `${path}?limit=1`);
    await times.open(metadata.resourceVersion);
    const acknowledged: number[] = [];
    // Each object once: replication skips states that are overwritten before it comes to them.
    const write = async (n: number): Promise<void> => {
      const name = `object-${n}`;
      times.begin(name);
      const began = performance.now();
      await update(transport, `${objectsPath(provider, 'images')}/${name}`, { spec: { step: 1 } });
      acknowledged.push(performance.now() - began);
    };
    const warm = 100;
    await atRate(warm, writes.perSecond, (n) => write(writes.count + n));
    await times.all(warm);
    await quiet(this.#processes());
    times.milliseconds.length = acknowledged.length = 0;
    const before = this.#usage();
    await atRate(writes.count, writes.perSecond, write);
    await times.all(warm + writes.count);
    const after = this.#usage();
    report({
      name: "virtual resource: provider's write to event of a consumer on another shard, p99",
      value: at(times.milliseconds, 0.99),
      unit: 'ms',
      target: { atMost: 100 },
      note: `${writes.count} writes at ${writes.perSecond}/s, from the request; p50 ${at(times.milliseconds, 0.5).toFixed(0)} ms, of which the write itself p50 ${at(acknowledged, 0.5).toFixed(0)}, p99 ${at(acknowledged, 0.99).toFixed(0)} ms; processor time for a write: ${perProcess(before, after, writes.count)}`,
    });
    times.close();
  }

  /** GET of a virtual and of a stored object of the same size, in the workspace of one consumer. */
  async get(): Promise<void> {
    const consumer = this.#consumers[0] as string;
    await createDefinition(this.#transport, consumer, 'records');
    await post(this.#transport, objectsPath(consumer, 'records'), objectOf('records', 'object-0', imageBytes));
    const { ratio, note } = await getPerCore(
      {
        port: this.#cluster.port,
        token: this.#cluster.adminToken,
        stored: `${objectsPath(consumer, 'records')}/object-0`,
        virtual: `${objectsPath(consumer, 'images')}/object-0`,
      },
      this.#processes(),
    );
    report({
      name: 'GET of a virtual resource, per core of all processes on its way',
      value: ratio,
      unit: 'x',
      baseline: 'GET of a stored one, per core of all processes on its way',
      target: { atLeast: 0.25 },
      note: `sharded, through the front-proxy; processor time: ${note}`,
    });
  }

  /** What consumers that read all cached objects leave in memory, of all processes. */
  async memory(): Promise<void> {
    const [transport, provider, clusters] = [this.#transport, this.#provider, this.#consumers];
    await bindAll(transport, clusters, provider, 'compute', 'images');
    const read = (consumer: string, limit: number): Promise<unknown> =>
      until(() => isServed(transport, `${objectsPath(consumer, 'images')}?limit=${limit}`));
    // Requests leave this behind for any resource (access decisions of each consumer) and any client (compiled code).
    await many(consumers, clients, () => read(clusters[0] as string, page));
    await many(consumers, clients, (n) => read(clusters[n] as string, 1));
    const before = await this.#held();
    await many(consumers, clients, (n) => read(clusters[n] as string, page));
    const after = await this.#held();
    // In the shard of the provider, the cache server, and the virtual workspaces of the consumers' shard.
    const copies = 3 * images * imageBytes;
    const grown = [...after].map(([name, bytes]) => ({ name, bytes: bytes - (before.get(name) ?? 0) }));
    const more = grown.reduce((sum, { bytes }) => sum + bytes, 0);
    report({
      name: 'memory of 10,000 cached objects of 1 KiB for 1,000 consumers, beyond one copy per process',
      value: (Math.max(0, more) / copies) * 100,
      unit: '%',
      target: { atMost: 5 },
      note: `of the copies, of which three processes hold one; what heaps and buffers hold once each consumer has read a page of ${page}, beyond what they held when each had read one object: ${grown.map(({ name, bytes }) => `${name} ${(bytes / 1024).toFixed(0)} KiB`).join(', ')}`,
    });
  }

  /** What heap and buffers of each process hold after it has collected its garbage, in bytes. */
  async #held(): Promise<ReadonlyMap<string, number>> {
    const all = new Map<string, number>();
    for (const [name, { pid }] of this.#processes()) {
      if (/^(etcd|nats)/.test(name)) continue;
      let least = Number.POSITIVE_INFINITY;
      for (let look = 0; look < looks; look++) least = Math.min(least, await this.#heldBy(pid as number));
      all.set(name, least);
    }
    return all;
  }

  async #heldBy(pid: number): Promise<number> {
    rmSync(this.#memoryFile, { force: true });
    process.kill(pid, 'SIGUSR2');
    const read = (): number => (JSON.parse(readFileSync(this.#memoryFile, 'utf8')) as { held: number }).held;
    await eventually(() => void read(), { timeout: 60_000 });
    return read();
  }

  #usage(): Usage {
    return usageOf(this.#processes());
  }

  #processes(): ReadonlyMap<string, { readonly pid?: number | undefined }> {
    return new Map(this.#cluster.processes.map((name) => [name, this.#cluster.process(name)]));
  }
}

function at(milliseconds: readonly number[], share: number): number {
  return milliseconds.toSorted((a, b) => a - b)[Math.ceil(milliseconds.length * share) - 1] as number;
}
