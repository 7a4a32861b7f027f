import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiExport, eventually } from '@multiplane/testing';
import { topologyName } from '../harness/start-control-plane.ts';
import { labelKey, Marketplace, mustSucceed, scopeObject, scopesPath, slicesPath } from './marketplace.ts';

const patient = { timeout: 60_000 };
const setsPath = scopesPath.replace('apiexportscopes', 'apiexportscopesets');
const regionKey = 'marketplace.example/region';
const isSharded = topologyName === 'sharded';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start();
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

interface Report {
  readonly name: string;
  readonly objects?: number;
  readonly values?: string[];
}

const statusOf = async <T>(path: string): Promise<T> =>
  (mustSucceed(await market.shared.requests.send({ path })).json['status'] ?? {}) as T;

/** The reports of the shards, in the order of `near`, `far`: one on a single shard. */
const reportsOf = async (path: string): Promise<readonly Report[]> => {
  const { shards = [] } = await statusOf<{ shards?: Report[] }>(path);
  const rank = ({ name }: Report): number => (name === 'root' ? 0 : 1);
  return shards.toSorted((a, b) => rank(a) - rank(b));
};

test('the status of a scope has the number of its objects on each shard with consumers', async () => {
  const counts = async (scope: string): Promise<unknown[]> =>
    (await reportsOf(`${scopesPath}/${scope}`)).map(({ objects }) => objects);
  await eventually(async () => expect(await counts('a')).toEqual(isSharded ? [0, 0] : [0]), patient);
  for (const [consumer, name, scope] of [
    ['near', 'one', 'a'],
    ['near', 'two', 'a'],
    ['far', 'three', 'a'],
    ['far', 'four', 'b'],
  ] as const)
    mustSucceed(await market.create(consumer, name, { [labelKey]: scope }));
  await eventually(async () => expect(await counts('a')).toEqual(isSharded ? [2, 1] : [3]), patient);
  await eventually(async () => expect(await counts('b')).toEqual(isSharded ? [0, 1] : [1]), patient);
  await market.shared.remove(market.own('near', 'one'));
  await eventually(async () => expect(await counts('a')).toEqual(isSharded ? [1, 1] : [2]), patient);
});

describe('a set of the values that occur', () => {
  const scopesOfSet = async (): Promise<string[]> => {
    const { json } = mustSucceed(await market.shared.requests.send({ path: scopesPath }));
    return (json['items'] as { metadata: { name: string } }[])
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith('region-'));
  };
  const create = (consumer: string, name: string, region: string) =>
    market.create(consumer, name, { [regionKey]: region });

  test('makes scopes for objects that existed before, and for new values of users who may create scopes', async () => {
    mustSucceed(await create('far', 'old', 'north'));
    const body = {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScopeSet',
      metadata: { name: 'region' },
      spec: { export: { name: 'marketplace' }, labelKey: regionKey, occurring: { limit: 2 } },
    };
    const both = { ...body, spec: { ...body.spec, values: ['x'] } };
    const refused = await market.shared.requests.send({ method: 'POST', path: setsPath, body: both });
    expect([refused.status, refused.json['message']]).toEqual([
      422,
      expect.stringContaining('exactly one of values and occurring must be set'),
    ]);
    await market.shared.post(setsPath, body);
    await eventually(async () => expect(await scopesOfSet()).toEqual(['region-north']), patient);
    await market.inForce('region-north');

    // A value without a scope needs a right, on every shard. Those of the set's scopes are free, as their policy says.
    for (const consumer of ['near', 'far']) {
      const denied = await create(consumer, 'south', 'south');
      expect([denied.status, denied.json['message']]).toEqual([
        403,
        expect.stringContaining('a new value needs the verb "create" on apiexportscopes'),
      ]);
      await eventually(async () => mustSucceed(await create(consumer, `again-${consumer}`, 'north')), patient);
    }
    await market.grant('provider', 'user-3', 'create-scopes', [
      { apiGroups: ['scopes.multiplane.dev'], resources: ['apiexportscopes'], verbs: ['create'] },
    ]);
    await eventually(async () => mustSucceed(await create('far', 'south', 'south')), patient);
    await eventually(async () => expect(await scopesOfSet()).toEqual(['region-north', 'region-south']), patient);
    await market.inForce('region-south');
    await eventually(async () => {
      const values = (await reportsOf(`${setsPath}/region`)).map((report) => report.values);
      expect(values).toEqual(isSharded ? [['north'], ['north', 'south']] : [['north', 'south']]);
    }, patient);
  });

  test('is bounded', async () => {
    for (const consumer of ['near', 'far'])
      await eventually(async () => {
        const refused = await create(consumer, 'west', 'west');
        expect([refused.status, refused.json['message']]).toEqual([
          403,
          expect.stringContaining('has its limit of 2 values'),
        ]);
      }, patient);
    expect(await scopesOfSet()).toEqual(['region-north', 'region-south']);
  });

  test('keeps the scope of a value that does not occur any more', async () => {
    await market.shared.remove(market.own('far', 'south'));
    await eventually(async () => {
      const values = (await reportsOf(`${setsPath}/region`)).flatMap((report) => report.values ?? []);
      expect(new Set(values)).toEqual(new Set(['north']));
    }, patient);
    expect(await scopesOfSet()).toEqual(['region-north', 'region-south']);
    await market.shared.remove(`${setsPath}/region`);
    await eventually(async () => expect(await scopesOfSet()).toEqual([]), patient);
    // Without the set and its scopes the label is free.
    await eventually(async () => mustSucceed(await create('near', 'free', 'anywhere')), patient);
  });
});

describe('events say what went wrong', () => {
  const eventsAbout = async (kind: string, name: string): Promise<string[]> => {
    const path = '/clusters/root:provider/api/v1/namespaces/default/events';
    const { json } = mustSucceed(await market.shared.requests.send({ path }));
    type Event = { involvedObject: { kind: string; name: string }; type: string; reason: string; message: string };
    return (json['items'] as Event[])
      .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name)
      .map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  };

  test('with an endpoint slice whose partition is missing', async () => {
    await market.shared.post(slicesPath, {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScopeEndpointSlice',
      metadata: { name: 'lost' },
      spec: { scope: { name: 'a' }, partition: 'missing' },
    });
    await eventually(async () => {
      const found = await eventsAbout('APIExportScopeEndpointSlice', 'lost');
      expect(found.join()).toContain('Warning PartitionInvalidReference PartitionValid is False:');
    }, patient);
  });

  test('with an export that is gone', async () => {
    await market.shared.offer(apiExport('passing', []));
    const body = scopeObject('of-passing', { export: { name: 'passing' } });
    await market.shared.requests.must({ method: 'POST', path: scopesPath, body });
    await eventually(async () => {
      const { identityHash } = await statusOf<{ identityHash?: string }>(`${scopesPath}/of-passing`);
      expect(identityHash).toMatch(/^[0-9a-f]{64}$/);
    }, patient);
    await market.shared.remove('/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/passing');
    await eventually(async () => {
      const found = await eventsAbout('APIExportScope', 'of-passing');
      expect(found.join()).toContain('Warning APIExportNotFound ExportValid is False: APIExport');
    }, patient);
  });

  test('and not what is expected: a scope without consumers yet', async () => {
    expect(await eventsAbout('APIExportScope', 'a')).toEqual([]);
  });
});
