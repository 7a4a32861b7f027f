import { setTimeout as wait } from 'node:timers/promises';
import type { KubeObject } from '@multiplane/apimachinery';
import type { APIBinding, APIExport } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { apiExport, apiResourceSchema } from '@multiplane/testing';
import { ServerProcess } from './api/server-process.ts';
import { atRate, get, many, post, readyWorkspaces, until } from './load.ts';
import { report } from './report.ts';
import { WatchTimes } from './watch-times.ts';

/*
 * The view of an export that a thousand logical clusters of one process have bound: what its provider's controllers see of
 * them, and when (issue 6, cost and speed). Server and client share the processors of this machine.
 */
const consumers = 1_000;
const perSecond = 200;
/** Writes whose way into the watch is timed. */
const timed = 4_000;
const events = 100_000;
const clients = 16;
const group = 'bench.example.dev';
const apis = 'apis/apis.kcp.io/v1alpha2';

async function measure(transport: RestTransport): Promise<void> {
  const [provider = '', ...clusters] = await readyWorkspaces(transport, 'root', { count: consumers + 1, clients });
  await exportThings(transport, provider, 'things', 1);
  await many(consumers, clients, async (index) => {
    await post(transport, `/clusters/${clusters[index]}/${apis}/apibindings`, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'things' },
      spec: { reference: { export: { path: provider, name: 'things' } } },
    });
  });
  await until(async () => {
    const { items } = await get<{ items: APIBinding[] }>(transport, `/clusters/*/${apis}/apibindings`);
    return (
      items.filter(({ metadata, status }) => metadata.name === 'things' && status?.phase === 'Bound').length >=
      consumers
    );
  });

  await exportThings(transport, provider, 'newest', 10);
  const began = performance.now();
  await get(transport, `${viewOf(provider, 'newest')}/newest0`);
  report({
    name: 'first request to the view of a new export',
    value: performance.now() - began,
    unit: 'ms',
    target: { atMost: 300 },
    note: 'ten resources; until the wildcard list of one of them was there',
  });

  const seen = new SeenEvents(transport, `${viewOf(provider, 'things')}/things0`);
  await seen.open();
  await many(consumers, clients, (index) => seen.write(clusters[index] as string, 'POST'));
  await seen.times.all(consumers);
  seen.times.milliseconds.length = 0;
  await atRate(timed, perSecond, (index) => seen.write(clusters[index % consumers] as string, 'PATCH'));
  await seen.times.all(consumers + timed);
  const times = seen.times.milliseconds.toSorted((a, b) => a - b);
  report({
    name: 'write to event through the view of an export, p99',
    value: times[Math.ceil(times.length * 0.99) - 1] as number,
    unit: 'ms',
    target: { atMost: 20 },
    note: `${perSecond} writes/s over ${consumers} consumers, from the request to its event; median ${(times[times.length / 2] as number).toFixed(1)} ms`,
  });

  const busy = performance.now();
  await many(events, clients, (index) => seen.write(clusters[index % consumers] as string, 'PATCH'));
  const took = (performance.now() - busy) / 1_000;
  const total = consumers + timed + events;
  await seen.times.all(total);
  // What came twice would come behind the last one.
  await wait(1_000);
  report({
    name: 'events lost or doubled in a watch through the view of an export',
    value: Math.abs(seen.count - total) + seen.disordered,
    unit: '',
    target: { atMost: 0 },
    note: `${events} writes, ${Math.round(events / took)}/s with ${clients} clients`,
  });
  seen.times.close();
}

const viewOf = (cluster: string, name: string): string =>
  `/services/apiexport/${cluster}/${name}/clusters/*/apis/${group}/v1`;

interface ThingEvent {
  readonly type: string;
  readonly object: KubeObject & { readonly spec: { readonly step: number } };
}

/** Writes the objects of all consumers, one each, and follows when each write is seen. */
class SeenEvents {
  readonly times: WatchTimes<ThingEvent>;
  count = 0;
  /** Events that are not the next one of their object. */
  disordered = 0;
  readonly #transport: RestTransport;
  readonly #path: string;
  readonly #steps = new Map<string, number>();
  readonly #last = new Map<string, number>();
  readonly #writing = new Map<string, Promise<unknown>>();

  constructor(transport: RestTransport, path: string) {
    this.#transport = transport;
    this.#path = path;
    this.times = new WatchTimes({ path, ends: (event) => this.#see(event) }, { transport });
  }

  async open(): Promise<void> {
    const { metadata } = await get<{ metadata: { resourceVersion: string } }>(this.#transport, this.#path);
    await this.times.open(metadata.resourceVersion);
  }

  /** The next step of a consumer's object; steps of one object are made one by one. */
  async write(cluster: string, method: 'POST' | 'PATCH'): Promise<void> {
    const before = this.#writing.get(cluster);
    const writing = (async () => {
      await before;
      const step = (this.#steps.get(cluster) ?? 0) + 1;
      this.#steps.set(cluster, step);
      const path = `/clusters/${cluster}/apis/${group}/v1/things0`;
      this.times.begin(`${cluster}/${step}`);
      if (method === 'POST') {
        await post(this.#transport, path, {
          apiVersion: `${group}/v1`,
          kind: 'Things0',
          metadata: { name: 'one' },
          spec: { step },
        });
        return;
      }
      await this.#transport.json({
        method,
        path: `${path}/one`,
        contentType: 'application/merge-patch+json',
        body: JSON.stringify({ spec: { step } }),
      });
    })();
    this.#writing.set(cluster, writing);
    await writing;
  }

  #see({ type, object }: ThingEvent): string {
    if (type !== 'ADDED' && type !== 'MODIFIED')
      throw new Error(`the watch said ${type} ${JSON.stringify(object).slice(0, 300)}`);
    const cluster = object.metadata.annotations?.['kcp.io/cluster'] ?? '';
    const { step } = object.spec;
    if (step !== (this.#last.get(cluster) ?? 0) + 1) this.disordered += 1;
    this.#last.set(cluster, step);
    this.count += 1;
    return `${cluster}/${step}`;
  }
}

/** An export of so many resources, once it has its identity. */
async function exportThings(transport: RestTransport, cluster: string, name: string, count: number): Promise<void> {
  const plurals = Array.from({ length: count }, (_, index) => `${name}${index}`);
  const spec = { type: 'object', properties: { step: { type: 'integer' } } };
  for (const plural of plurals) {
    const kind = plural[0]?.toUpperCase() + plural.slice(1);
    const schema = apiResourceSchema({ group, plural, kind, scope: 'Cluster', spec });
    await post(transport, `/clusters/${cluster}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`, schema);
  }
  const schemas = plurals.map((plural) => `v1.${plural}.${group}`);
  await post(transport, `/clusters/${cluster}/${apis}/apiexports`, apiExport(name, schemas));
  await until(async () => {
    const { status } = await get<APIExport>(transport, `/clusters/${cluster}/${apis}/apiexports/${name}`);
    return status?.identityHash !== undefined;
  });
}

console.log('\nViews of exports');
const server = await ServerProcess.create();
try {
  await server.start();
  const transport = server.transport();
  await measure(transport);
  transport.close();
} finally {
  await server.remove();
}
