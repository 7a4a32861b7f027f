import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { RestTransport } from '@multiplane/client';
import { ServerProcess } from '../api/server-process.ts';
import { atRate, many, post, readyWorkspaces } from '../load.ts';
import { report } from '../report.ts';
import { getPerCore } from './get-per-core.ts';
import { bindAll, createDefinition, objectOf, objectsPath, publish, update } from './provider.ts';
import { perProcess, usageOf } from './usage.ts';
import { WatchDeliveries } from './watch-deliveries.ts';

/*
 * Virtual resources of `multiplane start`: provider, cache server, virtual workspaces and consumers in one process. Here a
 * thousand watches fit on the two processors: on their way through a sharded control plane, 20,000 events/s pass three
 * servers, each of which receives and sends every one of them over TLS.
 */
const consumers = 1_000;
const flavors = 20;
const updates = { count: 100, perSecond: 20 };

export async function measureOneProcess(): Promise<void> {
  const server = await ServerProcess.create();
  await server.start();
  const transport = server.transport();
  try {
    const [provider = '', ...clusters] = await readyWorkspaces(transport, 'root', {
      count: consumers + 1,
      clients: 16,
    });
    await createDefinition(transport, provider, 'flavors');
    await many(flavors, 16, (n) =>
      post(transport, objectsPath(provider, 'flavors'), objectOf('flavors', `object-${n}`, 1_024)),
    );
    await publish(transport, provider, 'compute', { flavors });
    await bindAll(transport, clusters, provider, 'compute', 'flavors');
    await measureWatches(server, transport, provider, clusters);
    await measureGet(server, transport, clusters[0] as string);
  } finally {
    transport.close();
    await server.remove();
  }
}

/** One watch in each of a thousand consumers. */
async function measureWatches(
  server: ServerProcess,
  transport: RestTransport,
  provider: string,
  clusters: readonly string[],
): Promise<void> {
  const paths = join(server.directory, 'paths');
  const watched = clusters.map(
    (consumer) => `${objectsPath(consumer, 'flavors')}?watch=1&fieldSelector=metadata.name%3Dobject-0`,
  );
  writeFileSync(paths, watched.join('\n'));
  const deliveries = await WatchDeliveries.start({
    port: server.port,
    token: server.token,
    path: `@${paths}`,
    watchers: clusters.length,
    connections: 20,
  });
  rmSync(paths);
  const send = (): Promise<unknown> =>
    update(transport, `${objectsPath(provider, 'flavors')}/object-0`, {
      metadata: { annotations: { 'bench/sent': String(Date.now()) } },
    });
  await atRate(updates.perSecond * 3, updates.perSecond, send);
  await wait(2_000);
  deliveries.reset();
  const processes = new Map([['the server', server]]);
  const before = usageOf(processes);
  await atRate(updates.count, updates.perSecond, send);
  await wait(3_000);
  const after = usageOf(processes);
  const all = updates.count * clusters.length;
  report({
    name: '1,000 consumers watch a virtual resource, 20 updates/s: p99',
    value: deliveries.within(0.99),
    unit: 'ms',
    target: { atMost: 250 },
    note: `in one process; ${deliveries.count} of ${all} deliveries, ${deliveries.ended} watches cut off; p50 ${deliveries.within(0.5)} ms; processor time for a delivery: ${perProcess(before, after, all)}`,
  });
  deliveries.stop();
}

async function measureGet(server: ServerProcess, transport: RestTransport, consumer: string): Promise<void> {
  await createDefinition(transport, consumer, 'records');
  await post(transport, objectsPath(consumer, 'records'), objectOf('records', 'object-0', 1_024));
  const { ratio, note } = await getPerCore(
    {
      port: server.port,
      token: server.token,
      stored: `${objectsPath(consumer, 'records')}/object-0`,
      virtual: `${objectsPath(consumer, 'flavors')}/object-0`,
    },
    new Map([['the server', server]]),
  );
  report({
    name: 'GET of a virtual resource, per core, in one process',
    value: ratio,
    unit: 'x',
    baseline: 'GET of a stored one, per core, in one process',
    target: { atLeast: 0.25 },
    note: `processor time: ${note}`,
  });
}
