import { afterEach, expect, test } from '@jest/globals';
import { Pipeline } from '../../test/pipeline.ts';
import { preferredWaitMs, type CreateOutcome } from './create-outcome.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const made = { metadata: { name: 'a' }, data: { k: 'made' } };
const patient = { prefer: 'wait=2' };

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

/** A server with this outcome for new ConfigMaps; `asked` are the calls. */
async function withOutcome(outcome: (on: Pipeline) => Promise<boolean>): Promise<[Pipeline, unknown[]]> {
  const asked: unknown[] = [];
  const wait: CreateOutcome = (location, ms) => {
    asked.push([location, ms]);
    return outcome(on);
  };
  const on = await Pipeline.open({ outcomes: new Map([['/configmaps', wait]]) });
  pipeline = on;
  return [on, asked];
}

const changed = async (on: Pipeline): Promise<boolean> => {
  await on.must(200, 'PUT', `${maps}/a`, { metadata: { name: 'a' }, data: { k: 'outcome' } });
  return true;
};

test('Prefer: wait returns the object in its final state', async () => {
  const [on, asked] = await withOutcome(changed);
  const answer = await on.must(201, 'POST', maps, made, patient);
  expect(answer).toEqual(await on.must(200, 'GET', `${maps}/a`));
  expect(answer['data']).toEqual({ k: 'outcome' });
  expect(asked).toEqual([[{ cluster: on.cluster, namespace: 'default', name: 'a' }, 2000]]);
});

test('after the wait the created object is returned', async () => {
  const [on] = await withOutcome(async () => false);
  expect((await on.must(201, 'POST', maps, made, patient))['data']).toEqual({ k: 'made' });
});

test('an object that was deleted meanwhile is returned as created', async () => {
  const [on] = await withOutcome(async (server) => {
    await server.must(200, 'DELETE', `${maps}/a`);
    return true;
  });
  expect((await on.must(201, 'POST', maps, made, patient))['data']).toEqual({ k: 'made' });
});

test('other kinds, dry runs and requests without the header do not wait', async () => {
  const [on, asked] = await withOutcome(changed);
  await on.must(201, 'POST', `${maps}?dryRun=All`, made, patient);
  await on.must(201, 'POST', maps, made);
  await on.must(201, 'POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'a' } }, patient);
  expect(asked).toEqual([]);
});

test.each([
  [undefined, 0],
  ['', 0],
  ['return=minimal', 0],
  ['wait=0', 0],
  ['wait=-1', 0],
  ['wait=x', 0],
  ['other; wait=3', 0],
  ['wait=3', 3000],
  ['return=minimal, Wait = "3"; x=y', 3000],
  [['return=minimal', 'wait=3'], 3000],
  ['wait=3, wait=1', 3000],
  ['wait=86400', 5000],
])('Prefer: %j is a wait of %d ms', (header, ms) => {
  expect(preferredWaitMs(header)).toBe(ms);
});
