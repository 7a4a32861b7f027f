import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { Pipeline, framesOf, type TestExchange } from '../../test/pipeline.ts';
import { labelOf } from '../registry/store/entry-metadata.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const ofA = `${maps}?labelSelector=owner%3Da`;
const mergePatch = { 'content-type': 'application/merge-patch+json' };

const open: Pipeline[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((pipeline) => pipeline.close()));
});

/** Config maps m0 to m8 with the owners a, b and c in turn, without or with an index by owner. */
async function start(isIndexed: boolean): Promise<Pipeline> {
  const on = await Pipeline.open();
  open.push(on);
  if (isIndexed) addIndex(on);
  for (let i = 0; i < 9; i++) {
    const labels = { owner: 'abc'.charAt(i % 3), ...(i > 5 ? { late: 'yes' } : {}) };
    await on.must(201, 'POST', maps, { metadata: { name: `m${i}`, labels } });
  }
  return on;
}

function addIndex(on: Pipeline): void {
  // The segment after the resource is the logical cluster for built-in kinds.
  on.cache.indexes?.add({ identity: on.cluster, name: 'owner', valueOf: (entry) => labelOf(entry, 'owner') });
}
const isBuilt = (on: Pipeline): boolean | undefined =>
  on.cache.indexes?.find(`/registry/core/configmaps/${on.cluster}/`, 'owner')?.isBuilt;
const setOwner = (on: Pipeline, name: string, owner: string | null): Promise<unknown> =>
  on.must(200, 'PATCH', `${maps}/${name}`, { metadata: { labels: { owner } } }, mergePatch);

/** Every answer to a script of requests; identical with and without the index. */
async function answersOf(isIndexed: boolean): Promise<string[]> {
  const on = await start(isIndexed);
  const answers: string[] = [];
  const ask = async (path: string): Promise<string> => {
    const { status, text } = await on.ask('GET', path);
    answers.push(`${status} ${text}`);
    return text;
  };
  const first = JSON.parse(await ask(`${ofA}&limit=1`)) as {
    metadata: { continue: string; resourceVersion: string; remainingItemCount?: number };
  };
  expect(first.metadata.remainingItemCount).toBeUndefined();
  await setOwner(on, 'm3', 'b');
  await setOwner(on, 'm1', 'a');
  await on.must(200, 'DELETE', `${maps}/m6`);
  // The next page is of the revision of the first one.
  await ask(`${ofA}&limit=1&continue=${first.metadata.continue}`);
  await ask(`${ofA}&resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`);
  await ask(ofA);
  await ask(`${ofA}&limit=500`);
  await ask(`${maps}?labelSelector=owner+in+(a)`);
  await ask(`${maps}?labelSelector=owner+in+(a,b)`);
  await ask(`${maps}?labelSelector=owner%3Da,late`);
  await ask(`${maps}?labelSelector=owner%3Da,owner%3Db`);
  await ask(`${maps}?labelSelector=owner%21%3Da`);
  await ask(`${ofA}&fieldSelector=metadata.name%3Dm1`);
  await ask(`${maps}?labelSelector=owner%3Dunknown`);
  await ask(`/api/v1/configmaps?labelSelector=owner%3Da`);
  await ask('/clusters/*/api/v1/configmaps?labelSelector=owner%3Da');
  expect(isBuilt(on)).toBe(isIndexed ? true : undefined);
  return answers;
}

const eventsOf = (exchange: TestExchange): string[] =>
  framesOf(exchange).map(
    ({ type, object }) => `${type} ${object.metadata?.name ?? ''} ${object.metadata.resourceVersion}`,
  );

describe('requests with a label selector that an index of the cache serves', () => {
  test('have the answers that they have without it', async () => {
    expect(await answersOf(true)).toEqual(await answersOf(false));
  });

  test('wait while the index is built', async () => {
    const on = await start(false);
    addIndex(on);
    const listing = on.ask('GET', ofA);
    expect(isBuilt(on)).toBe(false);
    const { body } = await listing;
    expect(isBuilt(on)).toBe(true);
    expect((body['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)).toEqual([
      'm0',
      'm3',
      'm6',
    ]);
  });

  test('watches have initial events, a bookmark, and every change of the selection; resumed ones, too', async () => {
    const run = async (isIndexed: boolean): Promise<string[][]> => {
      const on = await start(isIndexed);
      const since = on.cache.revision;
      const query = `${ofA}&watch=1&allowWatchBookmarks=true`;
      const initial = on.start('GET', `${query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
      const combined = on.start('GET', `${maps}?watch=1&labelSelector=owner%3Da,late&resourceVersion=${since}`);
      const named = on.start('GET', `${ofA}&watch=1&fieldSelector=metadata.name%3Dm1&resourceVersion=${since}`);
      await eventLoopIdle();
      await setOwner(on, 'm3', 'b');
      await setOwner(on, 'm1', 'a');
      await on.must(200, 'PATCH', `${maps}/m1`, { data: { n: '1' } }, mergePatch);
      await on.must(200, 'PATCH', `${maps}/m2`, { data: { n: '1' } }, mergePatch);
      await setOwner(on, 'm6', null);
      await on.must(200, 'DELETE', `${maps}/m0`);
      const resumed = on.start('GET', `${ofA}&watch=1&resourceVersion=${since}`);
      const later = on.start('GET', `${ofA}&watch=1&resourceVersion=${since + 2}`);
      await eventLoopIdle();
      return [initial, combined, named, resumed, later].map(({ exchange }) => eventsOf(exchange));
    };
    const indexed = await run(true);
    expect(indexed).toEqual(await run(false));
    expect(indexed[3]?.map((event) => event.split(' ').slice(0, 2).join(' '))).toEqual([
      'DELETED m3',
      'ADDED m1',
      'MODIFIED m1',
      'DELETED m6',
      'DELETED m0',
    ]);
  });

  test('deletecollection deletes the selected objects only', async () => {
    const on = await start(true);
    await on.must(200, 'DELETE', ofA);
    const { items } = (await on.must(200, 'GET', maps)) as { items: unknown } as {
      items: { metadata: { name: string } }[];
    };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['m1', 'm2', 'm4', 'm5', 'm7', 'm8']);
  });
});
