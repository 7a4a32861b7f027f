import { afterEach, describe, expect, test } from '@jest/globals';
import { turnsDuring } from '@multiplane/testing';
import type { Json } from '@multiplane/apimachinery';
import { Pipeline } from '../../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const type = (name: string): Record<string, string> => ({ 'content-type': `application/${name}` });

/** Each stage of a write takes more than a time slice for so wide an object, and there are more of them. */
const stages = 5;

const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, 'v']));

let pipeline: Pipeline | undefined;
afterEach(async () => {
  await pipeline?.close();
});

async function withMaps(): Promise<Pipeline> {
  pipeline = await Pipeline.open();
  await pipeline.must(201, 'POST', maps, { metadata: { name: 'small' }, data: { k: 'v' } });
  await pipeline.must(201, 'POST', maps, { metadata: { name: 'big' }, data: wide });
  return pipeline;
}

describe('large writes yield to other requests', () => {
  const map = (name: string): Json => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: wide });
  test.each<[string, string, string, Json, Record<string, string>?]>([
    ['by POST', 'POST', maps, map('new')],
    ['by PUT, over something small', 'PUT', `${maps}/small`, map('small')],
    ['by a merge patch', 'PATCH', `${maps}/small`, { data: wide }, type('merge-patch+json')],
    ['by a strategic patch', 'PATCH', `${maps}/small`, { data: wide }, type('strategic-merge-patch+json')],
    ['by a JSON patch', 'PATCH', `${maps}/small`, [{ op: 'add', path: '/data', value: wide }], type('json-patch+json')],
    ['by apply', 'PATCH', `${maps}/new?fieldManager=m`, map('new'), type('apply-patch+yaml')],
    ['by a small patch of it', 'PATCH', `${maps}/big`, { data: { k: 'v' } }, type('merge-patch+json')],
    [
      'by a small apply to it',
      'PATCH',
      `${maps}/big?fieldManager=m`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'big' }, data: { k: 'v' } },
      type('apply-patch+yaml'),
    ],
  ])('%s', async (_, method, path, body, headers = {}) => {
    const on = await withMaps();
    const { turns } = await turnsDuring(async () => {
      const { status } = await on.ask(method, path, body, headers);
      expect([200, 201]).toContain(status);
    });
    expect(turns).toBeGreaterThanOrEqual(stages);
  });
});

describe('an object never gets wider than a body may be', () => {
  const members = (from: number, count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [(from + index).toString(36), '']));
  const adds = Object.entries(members(70_000, 6_000)).map(([name, value]) => ({
    op: 'add',
    path: `/data/${name}`,
    value,
  }));
  test.each<[string, Json, string]>([
    ['merge-patch+json', { data: members(70_000, 6_000) }, ''],
    ['strategic-merge-patch+json', { data: members(70_000, 6_000) }, ''],
    ['json-patch+json', adds, ''],
    [
      'apply-patch+yaml',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'wide' }, data: members(70_000, 6_000) },
      '?fieldManager=m',
    ],
  ])('by %s', async (name, patch, query) => {
    const on = await withMaps();
    const path = `${maps}/wide`;
    const wide = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'wide' }, data: members(0, 60_000) };
    await on.must(201, 'POST', maps, wide);
    const refused = await on.must(413, 'PATCH', `${path}${query}`, patch, type(name));
    expect(refused).toMatchObject({
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: an object would have more than 65536 members',
    });
    await on.must(200, 'PUT', path, await on.must(200, 'GET', path));
  });
});
