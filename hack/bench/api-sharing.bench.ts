import type { JsonObject } from '@multiplane/apimachinery';
import type { APIBinding } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { apiExport, apiResourceSchema, exportedResource } from '@multiplane/testing';
import { ServerProcess } from './api/server-process.ts';
import { atRate, get, many, post, readyWorkspaces } from './load.ts';
import { report } from './report.ts';
import { WatchTimes } from './watch-times.ts';

/*
 * What it takes to share an API of ten resources with a thousand logical clusters of one process (issue 6, cost and speed).
 * Server and client share the processors of this machine.
 */
const consumers = 1000;
const resources = 10;
/** Bindings whose time to Bound is taken, and how many of them begin in a second. */
const timed = 200;
const perSecond = 20;
const clients = 16;
const group = 'bench.example.dev';
const apis = 'apis/apis.kcp.io/v1alpha2';

async function measure(): Promise<void> {
  let transport = server.transport();
  const [provider, ...clusters] = await readyWorkspaces(transport, 'root', { count: consumers + 1, clients });
  const schemas = Array.from({ length: resources }, (_, index) => `v1.things${index}.${group}`);
  for (const [index, name] of schemas.entries()) await createSchema(transport, provider as string, name, index);
  await post(transport, `/clusters/${provider}/${apis}/apiexports`, apiExport('things', schemas));
  const before = await atRest();
  transport = server.transport();
  const bound = new BoundTimes(transport);
  await bound.open();
  await atRate(timed, perSecond, (index) => bound.bind(clusters[index] as string, provider as string));
  await bound.all(timed);
  const times = bound.milliseconds.toSorted((a, b) => a - b);
  report({
    name: 'binding to Bound, p99',
    value: times[Math.ceil(times.length * 0.99) - 1] as number,
    unit: 'ms',
    target: { atMost: 200 },
    note: `${timed} bindings of ${resources} resources at ${perSecond}/s; median ${Math.round(times[timed / 2] as number)} ms`,
  });

  const began = performance.now();
  const busy = server.processorSeconds;
  await many(consumers - timed, clients, (index) => bound.bind(clusters[timed + index] as string, provider as string));
  await bound.all(consumers);
  report({
    name: 'bindings to Bound',
    value: (consumers - timed) / ((performance.now() - began) / 1000),
    unit: '/s',
    note: `${consumers - timed} bindings, ${clients} clients; ${perBinding(server.processorSeconds - busy)} ms of processor time each`,
  });
  bound.close();
  transport.close();
  const after = await atRest();
  transport = server.transport();
  report({
    name: 'memory per APIBinding of an export with ten resources',
    value: (after.anonymous - before.anonymous) / consumers / 1024,
    unit: 'KiB',
    target: { atMost: 20 },
    note: `at rest, ${consumers} bindings; ${((after.held - before.held) / consumers / 1024).toFixed(1)} KiB of it held by heap and buffers`,
  });

  // Frequent readers hit caches; the bench must not measure those.
  await many(consumers, clients, async (index) => void (await versions(transport, clusters[index] as string)));
  report({
    name: `schema change visible in discovery of ${consumers} consumers`,
    value: await changeVisible(transport, provider as string, clusters, schemas),
    unit: 'ms',
    target: { atMost: 1000 },
    note: 'from the write to the export until the last of them was answered with the new version',
  });
  transport.close();
}

/**
 * Memory of a server that has just started. Histories, event windows and parsed objects are bounded by constants and fill
 * with every write, whatever it is: the difference between two starts is what stored things cost.
 */
async function atRest(): Promise<{ readonly anonymous: number; readonly held: number }> {
  await server.stop();
  await server.start();
  let least = await server.retained();
  for (let i = 0; i < 2; i++) {
    const look = await server.retained();
    if (look.anonymous < least.anonymous) least = look;
  }
  await settled();
  return least;
}

/** Waits until the server has looked through all that was there when it started. */
async function settled(): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    const before = server.processorSeconds;
    await new Promise((resolve) => setTimeout(resolve, 500));
    quiet = server.processorSeconds - before < 0.05 ? quiet + 1 : 0;
  }
}

const perBinding = (seconds: number): string => ((seconds * 1000) / (consumers - timed)).toFixed(1);

async function createSchema(
  transport: RestTransport,
  cluster: string,
  name: string,
  index: number,
  versionNames = ['v1'],
): Promise<void> {
  const [prefix = ''] = name.split('.');
  const fields = Array.from({ length: 20 }, (_, field) => [`${prefix}Field${field}`, { type: 'string' }]);
  const spec = { type: 'object', properties: Object.fromEntries(fields) as JsonObject };
  const versions = versionNames.map((version, at) => ({
    name: version,
    served: true,
    storage: at === 0,
    schema: { type: 'object', properties: { spec } },
  }));
  await post(
    transport,
    `/clusters/${cluster}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`,
    apiResourceSchema({ group, prefix, plural: `things${index}`, kind: `Thing${index}`, scope: 'Cluster', versions }),
  );
}

/** Follows all bindings of the shard and notes when each that was begun is Bound. */
class BoundTimes extends WatchTimes<{ readonly object: APIBinding }> {
  readonly #transport: RestTransport;

  constructor(transport: RestTransport) {
    const ends = ({ object: { metadata, status } }: { readonly object: APIBinding }): string | undefined =>
      metadata.name === 'things' && status?.phase === 'Bound' ? metadata.annotations?.['kcp.io/cluster'] : undefined;
    super({ path: `/clusters/*/${apis}/apibindings`, ends }, { transport });
    this.#transport = transport;
  }

  async bind(cluster: string, provider: string): Promise<void> {
    this.begin(cluster);
    await post(this.#transport, `/clusters/${cluster}/${apis}/apibindings`, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'things' },
      spec: { reference: { export: { path: provider, name: 'things' } } },
    });
  }
}

/** Milliseconds until all consumers have been shown a version that the export did not offer before. */
async function changeVisible(
  transport: RestTransport,
  provider: string,
  clusters: readonly string[],
  schemas: readonly string[],
): Promise<number> {
  const name = `v2.things0.${group}`;
  await createSchema(transport, provider, name, 0, ['v1', 'v2']);
  const offered = [name, ...schemas.slice(1)].map(exportedResource);
  const began = performance.now();
  await transport.json({
    method: 'PATCH',
    path: `/clusters/${provider}/${apis}/apiexports/things`,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ spec: { resources: offered } }),
  });
  let waiting = [...clusters];
  while (waiting.length > 0) {
    const round = waiting;
    const unseen: string[] = [];
    await many(round.length, clients, async (index) => {
      const cluster = round[index] as string;
      if ((await versions(transport, cluster)) < 2) unseen.push(cluster);
    });
    waiting = unseen;
  }
  return performance.now() - began;
}

async function versions(transport: RestTransport, cluster: string): Promise<number> {
  const path = `/clusters/${cluster}/apis/${group}`;
  return (await get<{ versions: unknown[] }>(transport, path)).versions.length;
}

console.log('\nSharing of APIs');
const server = await ServerProcess.create();
try {
  await server.start();
  await measure();
} finally {
  await server.remove();
}
