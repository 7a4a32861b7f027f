import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
import { get, many, post, readyWorkspaces, until } from './load.ts';
import { report } from './report.ts';

/*
 * How fast tenants are gone (issue 5, life cycle): many workspaces with content, and one that has a tree of them below it.
 * From the request to the moment at which the last of them is not found; the client shares the processors.
 */
const workspaces = 1_000;
const objects = 20;
const depth = 5;
const width = 7;
const clients = 16;
const tenancy = 'apis/tenancy.kcp.io/v1alpha1/workspaces';

const cluster = await LocalCluster.start();
const transport = cluster.transport('root');

console.log('\nDeletion');
await flat('warm', 50);
report({
  name: 'workspaces with 20 objects each, until all are gone',
  value: await flat('flat', workspaces),
  unit: 's',
  target: { atMost: 10 },
  note: `${workspaces} of type universal, deleted by one request`,
});
const { seconds, count } = await tree();
report({
  name: 'a tree of workspaces, until it is gone',
  value: seconds,
  unit: 's',
  target: { atMost: 10 },
  note: `${depth} deep, ${width} wide: ${count} workspaces`,
});
transport.close();
await cluster[Symbol.asyncDispose]();

function spaces(parent: string): string {
  return `/clusters/${parent}/${tenancy}`;
}

async function flat(prefix: string, count: number): Promise<number> {
  const path = spaces('root');
  const clusters = await readyWorkspaces(transport, 'root', { count, clients, prefix });
  await many(count * objects, clients, (n) =>
    post(transport, `/clusters/${clusters[Math.floor(n / objects)]}/api/v1/namespaces/default/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `object-${n % objects}` },
      data: { value: 'x'.repeat(200) },
    }),
  );
  return timed(async () => {
    await transport.json({ method: 'DELETE', path: `${path}?labelSelector=bench%3D${prefix}` });
    await until(async () => (await countOf('root', prefix)) === 0);
  });
}

/** Level by level, each workspace with so many below it; the last level has none. */
async function tree(): Promise<{ readonly seconds: number; readonly count: number }> {
  let level = ['root'];
  let count = 0;
  for (let deep = 0; deep < depth; deep++) {
    const wide = deep === 0 ? 1 : width;
    const next: string[] = [];
    await many(level.length, clients, async (n) => {
      const below = await readyWorkspaces(transport, level[n] ?? '', { count: wide, clients: wide, prefix: 'tree' });
      next.push(...below);
    });
    level = next;
    count += next.length;
  }
  const path = `${spaces('root')}/tree-0`;
  const seconds = await timed(async () => {
    await transport.json({ method: 'DELETE', path });
    await until(async () => (await countOf('root', 'tree')) === 0);
  });
  return { seconds, count };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

/** How many workspaces of a label there are. */
async function countOf(parent: string, label: string): Promise<number> {
  return (await get<{ items: unknown[] }>(transport, `${spaces(parent)}?labelSelector=bench%3D${label}`)).items.length;
}
