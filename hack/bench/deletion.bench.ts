import { isJsonObject, type Json } from '@multiplane/apimachinery';
import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
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
const type = { name: 'universal', path: 'root' };

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
  await many(count, (n) => create('root', `${prefix}-${n}`, prefix));
  const clusters = await ready(path, prefix, count);
  await many(count * objects, (n) =>
    post(`/clusters/${clusters[Math.floor(n / objects)]}/api/v1/namespaces/default/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `object-${n % objects}` },
      data: { value: 'x'.repeat(200) },
    }),
  );
  return timed(async () => {
    const selector = `?labelSelector=bench%3D${prefix}`;
    await transport.json({ method: 'DELETE', path: `${path}${selector}` });
    await until(async () => (await items(`${path}${selector}`)).length === 0);
  });
}

/** Level by level, each workspace with so many below it; the last level has none. */
async function tree(): Promise<{ readonly seconds: number; readonly count: number }> {
  let level = ['root'];
  let count = 0;
  for (let deep = 0; deep < depth; deep++) {
    const wide = deep === 0 ? 1 : width;
    const wanted = level.flatMap((parent) => Array.from({ length: wide }, (_, n) => ({ parent, name: `tree-${n}` })));
    await many(wanted.length, (n) => create(wanted[n]?.parent ?? '', wanted[n]?.name ?? '', 'tree'));
    const next: string[] = [];
    await many(level.length, async (n) => void next.push(...(await ready(spaces(level[n] ?? ''), 'tree', wide))));
    level = next;
    count += next.length;
  }
  const path = `${spaces('root')}/tree-0`;
  const seconds = await timed(async () => {
    await transport.json({ method: 'DELETE', path });
    await until(async () => (await items(`${spaces('root')}?labelSelector=bench%3Dtree`)).length === 0);
  });
  return { seconds, count };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

/** Logical clusters behind the workspaces with a label, once all of them are ready. */
async function ready(path: string, label: string, count: number): Promise<string[]> {
  let found: string[] = [];
  await until(async () => {
    const list = await items(`${path}?labelSelector=bench%3D${label}`);
    found = list.flatMap(({ spec, status }) => (status?.phase === 'Ready' ? [spec?.cluster ?? ''] : []));
    return found.length === count;
  });
  return found;
}

function create(parent: string, name: string, label: string): Promise<unknown> {
  return post(spaces(parent), {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name, labels: { bench: label } },
    spec: { type },
  });
}

function post(path: string, body: object): Promise<Json> {
  return transport.json({ method: 'POST', path, body: JSON.stringify(body) });
}

interface Listed {
  readonly spec?: { readonly cluster?: string };
  readonly status?: { readonly phase?: string };
}
async function items(path: string): Promise<readonly Listed[]> {
  const list = await transport.json({ method: 'GET', path });
  return isJsonObject(list) && Array.isArray(list['items']) ? (list['items'] as unknown as Listed[]) : [];
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

async function many(count: number, job: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < count) await job(next++);
    }),
  );
}
