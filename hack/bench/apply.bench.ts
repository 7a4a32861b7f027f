// Cost of managed fields and of server-side apply. Run: hack/bench/run apply
// Limits (issue 7, §1): an update of 1 KiB at most 1.5 times the same without field management; an apply at least half as
// fast as an update; an object of 1 MB with 10,000 keyed entries below 500 ms; no turn of the event loop above 50 ms, for that
// nor for an update of a map with 20,000 members.
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { Pipeline } from '../../packages/apiserver/test/pipeline.ts';
import { report } from './report.ts';
import { threadTime, watchTurns } from './thread-time.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const applyType = { 'content-type': 'application/apply-patch+yaml' };
const config = (n: number): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', labels: { app: 'shop', tier: 'front', release: 'stable' }, annotations: { owner: 'web' } },
  data: Object.fromEntries(Array.from({ length: 12 }, (_, key) => [`key-${key}`, `${n}-${'x'.repeat(55)}`])),
});

/** Runs all of `works` in turn, so that what else the machine does meets them alike; microseconds of the middle batch each. */
async function middle(works: readonly ((n: number) => Promise<void>)[]): Promise<number[]> {
  const batches = works.map((): number[] => []);
  let n = 0;
  for (let batch = 0; batch < 60; batch++) {
    for (const [index, work] of works.entries()) {
      const begin = threadTime();
      for (let count = 0; count < 200; count++) await work(++n);
      batches[index]?.push((threadTime() - begin) * 5);
    }
  }
  return batches.map((all) => all.toSorted((a, b) => a - b)[all.length >> 1] as number);
}

const managed = await Pipeline.open();
const bare = await Pipeline.open();
Object.assign(bare.store.modules.fields, {
  update: (_write: unknown, _live: unknown, object: KubeObject) => delete object.metadata.managedFields,
});
const applied = await Pipeline.open();
for (const on of [managed, bare]) await on.must(201, 'POST', `${maps}?fieldManager=one`, config(0));
await applied.must(201, 'PATCH', `${maps}/a?fieldManager=one`, config(0), applyType);

const put = (on: Pipeline) => (n: number) => on.start('PUT', `${maps}/a?fieldManager=one`, config(n)).done;
const send = await managed.must(200, 'GET', `${maps}/a`);
const sent = (send['metadata'] as JsonObject)['managedFields'] as JsonObject[];
const works = [
  put(bare),
  put(managed),
  (n: number) => {
    const body = config(n);
    (body['metadata'] as JsonObject)['managedFields'] = sent;
    return managed.start('PUT', `${maps}/a?fieldManager=one`, body).done;
  },
  (n: number) => applied.start('PATCH', `${maps}/a?fieldManager=one`, config(n), applyType).done,
];
const [without, update, echoed, apply] = (await middle(works)) as [number, number, number, number];
console.log(`update of ${JSON.stringify(config(1)).length} bytes without field management: ${without.toFixed(1)} µs`);
const size = '1 KiB';
report({
  name: `update of ${size} by one manager`,
  baseline: 'without field management',
  value: update / without,
  unit: 'times',
  target: { atMost: 1.5 },
});
report({
  name: `update of ${size} with managedFields sent back`,
  baseline: 'without field management',
  value: echoed / without,
  unit: 'times',
  target: { atMost: 2 },
});
report({
  name: `apply of ${size}, by speed`,
  baseline: 'the update by one manager',
  value: update / apply,
  unit: 'times',
  target: { atLeast: 0.5 },
});
for (const on of [managed, bare, applied]) await on.close();

// A keyed list as long as an object may be together with its managed fields.
const big = await Pipeline.open();
await big.serve({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'tables.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'tables', singular: 'table', kind: 'Table', listKind: 'TableList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  rows: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, value: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
});
const table = (rows: number, changed: string): string =>
  JSON.stringify({
    apiVersion: 'example.com/v1',
    kind: 'Table',
    metadata: { name: 't' },
    spec: {
      rows: Array.from({ length: rows }, (_, n) => ({
        name: `r${String(n).padStart(5, '0')}`,
        value: `${changed}${'v'.repeat(66)}`,
      })),
    },
  });
const path = '/apis/example.com/v1/namespaces/default/tables/t?fieldManager=one';
console.log(`a table of 10,000 rows, ${table(10_000, 'a').length} bytes`);
for (const [what, rows, changed] of [
  ['creates', 10_000, 'a'],
  ['changes nothing', 10_000, 'a'],
  ['changes every row', 10_000, 'b'],
  ['takes half of the rows away', 5_000, 'b'],
  ['brings them back', 10_000, 'b'],
] as const) {
  const body = table(rows, changed);
  // What the bench itself has left behind is not the server's.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { result, took, longest } = await watchTurns(async () => {
    const { exchange, done } = big.start('PATCH', path, body, applyType);
    await done;
    return exchange;
  });
  if (result.status >= 300) throw new Error(result.text.slice(0, 500));
  report({ name: `apply of 10,000 rows (1 MB) that ${what}`, value: took, unit: 'ms', target: { atMost: 500 } });
  report({ name: `  longest turn while it ${what}`, value: longest, unit: 'ms', target: { atMost: 50 } });
}
await big.close();

// A free map with as many members as fit, written as a whole.
const wide = await Pipeline.open();
const members = (changed: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'wide' },
    data: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key-${n}`, `${changed}${n}`])),
  });
await wide.must(201, 'POST', `${maps}?fieldManager=one`, members('a'));
for (const [what, manager, changed] of [
  ['by the same manager', 'one', 'b'],
  ['by another one', 'two', 'c'],
] as const) {
  const body = members(changed);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { result, took, longest } = await watchTurns(async () => {
    const { exchange, done } = wide.start('PUT', `${maps}/wide?fieldManager=${manager}`, body);
    await done;
    return exchange;
  });
  if (result.status !== 200) throw new Error(result.text.slice(0, 500));
  report({ name: `update of 20,000 members ${what}`, value: took, unit: 'ms' });
  report({ name: `  longest turn of the update ${what}`, value: longest, unit: 'ms', target: { atMost: 50 } });
}
await wide.close();
