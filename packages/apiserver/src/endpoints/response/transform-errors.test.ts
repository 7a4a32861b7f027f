import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pipeline } from '../../../test/pipeline.ts';

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await Pipeline.open();
});
afterAll(() => pipeline.close());

const maps = '/api/v1/namespaces/default/configmaps';
const list = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
const notAList = 'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)';

test('a request has its effect before its response cannot be transformed', async () => {
  const json = { ...list, 'content-type': 'application/json' };
  const created = await pipeline.ask('POST', maps, { metadata: { name: 'a', finalizers: ['example.com/f'] } }, json);
  expect([created.status, created.body['message']]).toEqual([406, notAList]);
  await pipeline.must(200, 'GET', `${maps}/a`);
  const deleted = await pipeline.ask('DELETE', `${maps}/a`, undefined, list);
  expect([deleted.status, deleted.body['message']]).toEqual([406, notAList]);
  expect((await pipeline.must(200, 'GET', `${maps}/a`))['metadata']).toHaveProperty('deletionTimestamp');
});

test('a missing object is NotFound, whatever it should be transformed to', async () => {
  expect((await pipeline.ask('GET', `${maps}/none`, undefined, list)).status).toBe(404);
});
