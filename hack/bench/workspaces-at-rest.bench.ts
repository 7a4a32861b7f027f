// What empty workspaces cost a server that does nothing else. Run: hack/bench/run workspaces-at-rest
// Limits (issue 5, §5): at most 40 KiB each, measured at 10,000; 100,000 within 6 GiB, started within 20 s to ready and 2 s
// to the first answer. Figures beside the name choose other numbers of workspaces; with one alone there are no more.
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@multiplane/apimachinery';
import { openFileStorage, type Storage } from '@multiplane/storage';
import { eventually } from '@multiplane/testing';
import { ServerProcess } from './api/server-process.ts';
import { report } from './report.ts';

/*
 * Workspaces are made as fast as a store writes: one is made through the API, and everything that is stored of it is
 * copied, each copy under names and uids of its own. To the server they are as if it had made them. Memory is compared
 * between two servers that have just started, without and with them: what fills with any writes (histories, windows) is
 * then in neither.
 */

const chosen = process.argv.slice(2).map(Number);
const [counted = 10_000, most = chosen.length === 1 ? 0 : 100_000] = chosen;
const path = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
const template = 'qqtemplateqq';

interface Start {
  readonly firstAnswer: number;
  readonly ready: number;
}

console.log('\nWorkspaces at rest');
const server = await ServerProcess.create();
await server.start();
const cluster = await makeTemplate();
await server.stop();
const records = await withStore((store) => recordsOf(store, cluster));
const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
console.log(`  ${records.length} objects of ${bytes} bytes each workspace`);

await start();
const emptyUnasked = server.memory().anonymous;
const without = await server.retained();
await server.stop();
await withStore((store) => copy(store, 0, counted));
await start();
const unasked = server.memory().anonymous - emptyUnasked;
const some = await server.retained();
await server.stop();
report({
  name: 'anonymous memory per empty workspace',
  value: (some.anonymous - without.anonymous) / counted / 1024,
  unit: 'KiB',
  target: { atMost: 40 },
  note: `at ${counted}, at rest, ${((some.held - without.held) / counted / 1024).toFixed(1)} KiB of it in heap and buffers; right after the start, with garbage, ${(unasked / counted / 1024).toFixed(1)} KiB; ${records.length} objects of ${bytes} bytes together`,
});

if (most > 0) await measureMany();
await server.remove();

/** What so many more cost as to make a start slow. */
async function measureMany(): Promise<void> {
  await withStore((store) => copy(store, counted, most));
  const begun = await start();
  const all = await server.retained();
  const many = `${most} empty workspaces`;
  report({
    name: `memory with ${many}`,
    value: all.anonymous / 2 ** 30,
    unit: 'GiB',
    target: { atMost: 6 },
    note: 'anonymous, garbage collected',
  });
  report({ name: `start with ${many}, to ready`, value: begun.ready, unit: 's', target: { atMost: 20 } });
  report({
    name: `start with ${many}, to the first answered request`,
    value: begun.firstAnswer,
    unit: 's',
    target: { atMost: 2 },
  });
}

/** Seconds until a start answered its first request and until it was ready; then whatever starting made it do is over. */
async function start(): Promise<Start> {
  const began = performance.now();
  const firstAnswer = (await server.start(`${path}?limit=1`)) / 1000;
  const ready = (performance.now() - began) / 1000;
  let before = -1;
  await eventually(
    async () => {
      const now = server.processorSeconds;
      const busy = now - before > 0.2;
      before = now;
      if (busy) {
        await delay(1_000);
        throw new Error('the server is still at work');
      }
    },
    { timeout: 600_000, interval: 1_000 },
  );
  return { firstAnswer, ready };
}

/** The logical cluster of a workspace that is ready. */
async function makeTemplate(): Promise<string> {
  const transport = server.transport();
  try {
    const type = { name: 'universal', path: 'root' };
    const body = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: template },
      spec: { type },
    };
    await eventually(() => transport.json({ method: 'POST', path, body: JSON.stringify(body) }), { timeout: 60_000 });
    return await eventually(
      async () => {
        const { spec, status } = (await transport.json({ method: 'GET', path: `${path}/${template}` })) as JsonObject;
        if ((status as JsonObject | undefined)?.['phase'] !== 'Ready') throw new Error('the workspace is not ready');
        return (spec as JsonObject)['cluster'] as string;
      },
      { timeout: 60_000 },
    );
  } finally {
    transport.close();
  }
}

async function withStore<T>(work: (store: Storage) => Promise<T>): Promise<T> {
  const store = await openFileStorage({ directory: join(server.directory, 'data') });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

interface Stored {
  readonly key: string;
  readonly value: string;
}

/** Everything that is stored of a workspace: what lies in its logical cluster, and the Workspace itself. */
async function recordsOf(store: Storage, of: string): Promise<Stored[]> {
  const { items } = await store.list('/registry/');
  const parts = (key: string): string[] => key.split('/');
  return items
    .filter(({ key }) => parts(key).includes(of) || parts(key).at(-1) === template)
    .map(({ key, value }) => ({ key, value: value.toString() }));
}

/** Copies number `from` up to `to`. */
async function copy(store: Storage, from: number, to: number): Promise<void> {
  const uids = [...new Set(records.flatMap(({ value }) => value.match(/(?<="uid":")[^"]+/g) ?? []))];
  const originals = new RegExp([cluster, template, ...uids].join('|'), 'g');
  let next = from;
  const work = async (): Promise<void> => {
    for (let n = next++; n < to; n = next++) {
      const others = new Map<string, string>([
        [cluster, `c${createHash('sha256').update(`copy ${n}`).digest('hex').slice(0, 15)}`],
        [template, `copy-${n}`],
        ...uids.map((uid) => [uid, randomUUID()] as const),
      ]);
      const renamed = (text: string): string => text.replaceAll(originals, (found) => others.get(found) as string);
      for (const { key, value } of records) await store.create(renamed(key), Buffer.from(renamed(value)));
    }
  };
  await Promise.all(Array.from({ length: 512 }, work));
}
