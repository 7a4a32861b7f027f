import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import {
  clusterObject,
  contentRule,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  scopeObject,
  scopesPath,
  type Cluster,
} from './marketplace.ts';

const patient = { timeout: 60_000 };
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const yaml = 'application/yaml';
const protobuf = 'application/vnd.kubernetes.protobuf';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone' });
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const read = (path: string, accept: string, as: string) =>
  market.shared.requests.send({ as, path, headers: { accept } });
const json = { 'content-type': 'application/json' };

describe.each(['near', 'far'])('objects of the consumer %s', (consumer) => {
  test('are read by name in every media type, or are missing in every media type', async () => {
    const name = `typed-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    const [inside, outside] = [market.in('a', consumer, name), market.in('b', consumer, name)];
    const rows = mustSucceed(await read(inside, table, 'user-1')).json;
    expect(rows).toMatchObject({ kind: 'Table', rows: [{ object: { metadata: { name } } }] });
    expect(mustSucceed(await read(inside, partial, 'user-1')).json).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name, labels: { [labelKey]: 'a' } },
    });
    expect(mustSucceed(await read(inside, yaml, 'user-1')).text).toContain(`name: ${name}`);
    for (const part of ['status', 'scale'])
      expect(mustSucceed(await read(`${inside}/${part}`, 'application/json', 'user-1')).json).toMatchObject({
        metadata: { name },
      });
    // Custom resources have no protobuf, as everywhere.
    expect((await read(inside, protobuf, 'user-1')).status).toBe(406);
    for (const path of [outside, `${outside}/status`, `${outside}/scale`])
      for (const accept of ['application/json', table, partial, yaml]) {
        const hidden = await read(path, accept, 'user-2');
        expect({ path, accept, status: hidden.status }).toEqual({ path, accept, status: 404 });
        // An object that exists elsewhere and one that does not exist are the same.
        const absent = await read(path.replace(name, 'nothing'), accept, 'user-2');
        expect(absent.text.replaceAll('nothing', name)).toBe(hidden.text);
      }
  });

  test('are never returned in a state outside of the scope, however reads and moves coincide', async () => {
    const name = `moving-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    const done = new AbortController();
    const seen = new Set<string>();
    const readUntilDone = async (accept: string, labelsOf: (body: Record<string, unknown>) => unknown) => {
      while (!done.signal.aborted) {
        const { status, json: body } = await read(market.in('a', consumer, name), accept, 'user-1');
        seen.add(`${status}`);
        expect([200, 404]).toContain(status);
        if (status === 200) expect(labelsOf(body)).toEqual({ [labelKey]: 'a' });
      }
    };
    type Row = { object: Cluster };
    const readers = [
      readUntilDone(table, (body) => (body['rows'] as Row[])[0]?.object.metadata.labels),
      readUntilDone(partial, (body) => (body['metadata'] as Cluster['metadata']).labels),
      readUntilDone('application/json', (body) => (body['metadata'] as Cluster['metadata']).labels),
    ];
    try {
      for (let round = 0; round < 20 || seen.size < 2; round++)
        mustSucceed(await market.move(consumer, name, round % 2 === 0 ? 'b' : 'a'));
    } finally {
      done.abort();
    }
    await Promise.all(readers);
    expect([...seen].sort()).toEqual(['200', '404']);
  });

  test('are listed with the selectors of the caller, in pages, and deleted as a collection', async () => {
    const { requests } = market.shared;
    for (const [name, scope, tier] of [
      ['l1', 'a', 'gold'],
      ['l2', 'a', 'gold'],
      ['l3', 'a', 'silver'],
      ['l4', 'b', 'gold'],
    ] as const)
      mustSucceed(await market.create(consumer, `${name}-${consumer}`, { [labelKey]: scope, tier }));
    const path = market.in('a', consumer);
    const namesOf = async (query: string): Promise<string[]> => {
      const { json: list } = mustSucceed(await requests.send({ as: 'user-1', path: `${path}?${query}` }));
      expect(list['metadata']).not.toHaveProperty('remainingItemCount');
      return (list['items'] as Cluster[]).map(({ metadata }) => metadata.name);
    };
    expect(await namesOf('labelSelector=tier%3Dgold')).toEqual([`l1-${consumer}`, `l2-${consumer}`]);
    expect(await namesOf('labelSelector=tier%3Dgold&limit=1')).toEqual([`l1-${consumer}`]);
    expect(await namesOf(`fieldSelector=metadata.name%3Dl4-${consumer}`)).toEqual([]);
    expect(await namesOf(`labelSelector=tier%3Dgold&fieldSelector=metadata.name%3Dl2-${consumer}`)).toEqual([
      `l2-${consumer}`,
    ]);
    const rows = mustSucceed(await read(`${path}?labelSelector=tier`, table, 'user-1')).json['rows'] as unknown[];
    expect(rows.length).toBe(3);
    const gone = { as: 'user-1', method: 'DELETE', path: `${path}?labelSelector=tier%3Dgold` };
    mustSucceed(await requests.send(gone));
    const left = mustSucceed(await requests.send({ path: `${market.own(consumer)}?labelSelector=tier` }));
    expect((left.json['items'] as Cluster[]).map(({ metadata }) => metadata.name)).toEqual([
      `l3-${consumer}`,
      `l4-${consumer}`,
    ]);
  });
});

describe('claimed objects', () => {
  const claim = { group: '', resource: 'configmaps', verbs: ['*'] };
  const maps = (scope: string, consumer: string, name = ''): string =>
    market
      .in(scope, consumer, name)
      .replace('apis/marketplace.example/v1/namespaces/default/clusters', 'api/v1/namespaces/default/configmaps');
  const ownMaps = (consumer: string): string => `/clusters/root:${consumer}/api/v1/namespaces/default/configmaps`;

  beforeAll(async () => {
    const exports = '/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/marketplace';
    await market.shared.patch(exports, { spec: { permissionClaims: [claim] } });
    for (const consumer of ['near', 'far']) {
      const binding = `/clusters/root:${consumer}/apis/apis.kcp.io/v1alpha2/apibindings/marketplace`;
      const accepted = { ...claim, state: 'Accepted', selector: { matchAll: true } };
      await market.shared.patch(binding, { spec: { permissionClaims: [accepted] } });
    }
    const inclusive = scopeObject('with-claims', { permissionClaims: 'Labelled' }, 'claims');
    await market.shared.requests.must({ method: 'POST', path: scopesPath, body: inclusive });
    await market.inForce('with-claims');
    await market.grant('provider', 'user-2', 'use-with-claims', [contentRule('with-claims')]);
    for (const consumer of ['near', 'far'])
      for (const [name, labels] of [
        ['theirs', { [labelKey]: 'claims' }],
        ['others', { [labelKey]: 'a' }],
        ['none', {}],
      ] as const)
        await market.shared.post(ownMaps(consumer), {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, labels },
          data: { name },
        });
  }, 120_000);

  test.each(['near', 'far'])(
    'of the consumer %s are in a scope with permissionClaims Labelled by its label',
    async (consumer) => {
      const listed = await eventually(async () => {
        const { json: list } = mustSucceed(await read(maps('with-claims', consumer), 'application/json', 'user-2'));
        const names = (list['items'] as Cluster[]).map(({ metadata }) => metadata.name);
        if (!names.includes('theirs')) throw new Error(JSON.stringify(list));
        return names;
      }, patient);
      expect(listed).toEqual(['theirs']);
      for (const name of ['others', 'none', 'absent'])
        expect((await read(maps('with-claims', consumer, name), 'application/json', 'user-2')).status).toBe(404);
      for (const [accept, type] of [
        [protobuf, protobuf],
        [yaml, yaml],
        [table, 'application/json'],
      ] as const) {
        const found = mustSucceed(await read(maps('with-claims', consumer, 'theirs'), accept, 'user-2'));
        expect(found.text).toContain('theirs');
        expect(found.headers['content-type']).toContain(type);
        for (const name of ['others', 'none'])
          expect((await read(maps('with-claims', consumer, name), accept, 'user-2')).status).toBe(404);
      }
      // What the provider creates gets the label, and what it updates keeps it.
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `made-${consumer}` } };
      const made = objectOf(
        await market.shared.requests.send({ as: 'user-2', method: 'POST', path: maps('with-claims', consumer), body }),
      );
      expect(made.metadata.labels).toMatchObject({ [labelKey]: 'claims' });
      const path = maps('with-claims', consumer, `made-${consumer}`);
      const moved = await market.patch(path, { metadata: { labels: { [labelKey]: 'a' } } }, 'user-2');
      expect([moved.status, moved.json['message']]).toEqual([403, expect.stringContaining('protected label')]);
      const foreign = market.shared.requests.send({
        as: 'user-2',
        method: 'PUT',
        path: maps('with-claims', consumer, 'others'),
        headers: json,
        body: { ...body, metadata: { name: 'others' } },
      });
      expect((await foreign).status).toBe(404);
    },
  );

  test('are not in a scope with permissionClaims Excluded, with or without its label', async () => {
    for (const consumer of ['near', 'far'])
      for (const name of ['', 'others', 'none'])
        expect((await read(maps('a', consumer, name), 'application/json', 'user-1')).status).toBe(404);
    const resources = await read(`${market.base('a')}/clusters/*/api/v1`, 'application/json', 'user-1');
    expect(resources.text).not.toContain('configmaps');
  });
});

test('an object is created by name once: its name is taken, whoever has it', async () => {
  mustSucceed(await market.create('near', 'taken', { [labelKey]: 'b' }));
  const path = market.in('a', 'near');
  const again = await market.shared.requests.send({ as: 'user-1', method: 'POST', path, body: clusterObject('taken') });
  expect([again.status, again.json['reason']]).toEqual([409, 'AlreadyExists']);
  const generated = { ...clusterObject(''), metadata: { generateName: 'taken' } };
  mustSucceed(await market.shared.requests.send({ as: 'user-1', method: 'POST', path, body: generated }));
});
