import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import {
  clusterObject,
  labelKey,
  Marketplace,
  mustSucceed,
  objectOf,
  scopeObject,
  scopesPath,
  slicesPath,
  type Cluster,
} from './marketplace.ts';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start();
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

const namesIn = async (scope: string, consumer: string, as: string): Promise<string[]> => {
  const { json } = mustSucceed(await market.list(scope, consumer, as));
  return (json['items'] as Cluster[]).map(({ metadata }) => metadata.name).sort();
};

test('access to a scope needs no right on the APIExport, and gives none', async () => {
  expect(await namesIn('a', 'near', 'user-1')).toEqual([]);
  const wholeExport = `/services/apiexport/${market.shared.clusters.get('provider')}/marketplace`;
  const path = `${wholeExport}/clusters/*/apis/marketplace.example/v1/clusters`;
  expect((await market.shared.requests.send({ as: 'user-1', path })).status).toBe(403);
  expect((await market.shared.requests.send({ as: 'user-1', path: market.own('near') })).status).toBe(403);
});

describe.each(['near', 'far'])('objects of the consumer %s', (consumer) => {
  test('are in the scope whose label they have, and do not exist in the other one', async () => {
    const name = `one-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    mustSucceed(await market.create(consumer, `none-${consumer}`));
    await eventually(async () => expect(await namesIn('a', consumer, 'user-1')).toContain(name));
    expect(await namesIn('b', consumer, 'user-2')).not.toContain(name);
    expect(await namesIn('a', consumer, 'user-1')).not.toContain(`none-${consumer}`);
    expect((await market.get('a', consumer, name)).status).toBe(200);
    const hidden = market.in('b', consumer, name);
    const { requests } = market.shared;
    const json = { 'content-type': 'application/json' };
    const missing = clusterObject(name, { labels: { [labelKey]: 'b' } });
    for (const request of [
      { path: hidden },
      { path: `${hidden}/status` },
      { path: `${hidden}/scale` },
      { path: hidden, headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } },
      { path: hidden, method: 'DELETE' },
      { path: hidden, method: 'PUT', headers: json, body: missing },
      { path: hidden, method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: {} },
      {
        path: `${hidden}?fieldManager=b&force=true`,
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: missing,
      },
    ]) {
      const { status, json: answer } = await requests.send({ as: 'user-2', ...request });
      expect({ request, status, message: answer['message'] }).toEqual({
        request,
        status: 404,
        message: `clusters.marketplace.example "${name}" not found`,
      });
    }
    // A deletecollection of the other provider leaves it alone.
    mustSucceed(await requests.send({ as: 'user-2', method: 'DELETE', path: market.in('b', consumer) }));
    expect((await market.get('a', consumer, name)).status).toBe(200);
  });

  test('are created in the scope through which they are created, by POST and by apply', async () => {
    const { requests } = market.shared;
    const path = market.in('a', consumer);
    const posted = await requests.send({ as: 'user-1', method: 'POST', path, body: clusterObject('posted') });
    expect(objectOf(posted).metadata.labels).toEqual({ [labelKey]: 'a' });
    const applied = await requests.send({
      as: 'user-1',
      method: 'PATCH',
      path: `${market.in('a', consumer, 'applied')}?fieldManager=a`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: clusterObject('applied'),
    });
    expect(objectOf(applied).metadata.labels).toEqual({ [labelKey]: 'a' });
    const foreign = clusterObject('foreign', { labels: { [labelKey]: 'b' } });
    const refused = await requests.send({ as: 'user-1', method: 'POST', path, body: foreign });
    expect([refused.status, refused.json['message']]).toEqual([403, expect.stringContaining(`protected label`)]);
  });

  test('can be updated in every way within the scope', async () => {
    const name = `updated-${consumer}`;
    mustSucceed(await market.create(consumer, name, { [labelKey]: 'a' }));
    const path = market.in('a', consumer, name);
    const { requests } = market.shared;
    objectOf(await market.patch(path, { spec: { size: 2 } }, 'user-1'));
    const status = await market.patch(`${path}/status`, { status: { phase: 'Up' } }, 'user-1');
    expect(objectOf(status)).toMatchObject({ spec: { size: 2 }, status: { phase: 'Up' } });
    mustSucceed(await market.patch(`${path}/scale`, { spec: { replicas: 3 } }, 'user-1'));
    const current = objectOf(await market.get('a', consumer, name));
    const put = await requests.send({
      as: 'user-1',
      method: 'PUT',
      path,
      body: { ...current, spec: { size: current.spec?.size === 3 ? 4 : 0 } },
    });
    expect(objectOf(put).spec).toEqual({ size: 4 });
    mustSucceed(await requests.send({ as: 'user-1', method: 'DELETE', path }));
    expect((await market.get('a', consumer, name)).status).toBe(404);
  });
});

test('a list through a scope tells nothing about other objects', async () => {
  for (const name of ['p1', 'p2', 'p3']) mustSucceed(await market.create('near', name, { [labelKey]: 'b' }));
  for (const name of ['q1', 'q2', 'q3']) mustSucceed(await market.create('near', name, { [labelKey]: 'a' }));
  const path = market.in('a', 'near');
  const all = await namesIn('a', 'near', 'user-1');
  const page = mustSucceed(await market.shared.requests.send({ as: 'user-1', path: `${path}?limit=1` }));
  expect(page.json['metadata']).not.toHaveProperty('remainingItemCount');
  const found: string[] = [];
  for (let token = ''; ;) {
    const query = `?limit=2${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
    const { json } = mustSucceed(await market.shared.requests.send({ as: 'user-1', path: `${path}${query}` }));
    found.push(...(json['items'] as Cluster[]).map(({ metadata }) => metadata.name));
    token = (json['metadata'] as { continue?: string }).continue ?? '';
    if (token === '') break;
  }
  expect(found.sort()).toEqual(all);
  const either = encodeURIComponent(`${labelKey} in (a,b)`);
  const selected = await market.shared.requests.send({ as: 'user-1', path: `${path}?labelSelector=${either}` });
  expect((mustSucceed(selected).json['items'] as Cluster[]).map(({ metadata }) => metadata.name).sort()).toEqual(all);
  const other = encodeURIComponent(`${labelKey}=b`);
  const none = await market.shared.requests.send({ as: 'user-1', path: `${path}?labelSelector=${other}` });
  expect(mustSucceed(none).json['items']).toEqual([]);
});

test('discovery and OpenAPI of a scope have the resources of the export and no APIBindings', async () => {
  const at = (path: string): string => `${market.base('a')}/clusters/*${path}`;
  const { json } = mustSucceed(await market.shared.requests.send({ as: 'user-1', path: at('/apis') }));
  expect((json['groups'] as { name: string }[]).map(({ name }) => name)).toEqual(['marketplace.example']);
  const bindings = await market.shared.requests.send({
    as: 'user-1',
    path: at('/apis/apis.kcp.io/v1alpha2/apibindings'),
  });
  expect(bindings.status).toBe(404);
  const openapi = await market.shared.requests.send({ as: 'user-1', path: at('/openapi/v3') });
  expect(Object.keys(mustSucceed(openapi).json['paths'] as object)).toContain('apis/marketplace.example/v1');
});

describe('scopes', () => {
  const refusal = async (body: object): Promise<string> => {
    const { status, json } = await market.shared.requests.send({ method: 'POST', path: scopesPath, body });
    return `${status} ${String(json['message'])}`;
  };

  test('that overlap are refused, and so are selectors of more than one label', async () => {
    expect(await refusal(scopeObject('again', {}, 'a'))).toContain(
      'overlaps with APIExportScope "a" of the same APIExport',
    );
    const two = { [labelKey]: 'c', other: 'c' };
    expect(await refusal(scopeObject('two', { selector: { matchLabels: two } }))).toMatch(/^422 .*at most 1/);
    const reserved = { 'internal.kcp.io/x': 'c' };
    expect(await refusal(scopeObject('mine', { selector: { matchLabels: reserved } }))).toContain('reserved');
    expect(await refusal(scopeObject('lost', { export: { name: 'lost', path: 'root:nowhere' } }))).toContain(
      'no permission to scope export root:nowhere:lost',
    );
  });

  test('need the verb scope on the APIExport', async () => {
    await market.grant('provider', 'user-3', 'scopes-only', [
      { apiGroups: ['scopes.multiplane.dev'], resources: ['*'], verbs: ['*'] },
    ]);
    const create = (name: string) =>
      market.shared.requests.send({ as: 'user-3', method: 'POST', path: scopesPath, body: scopeObject(name) });
    await eventually(async () =>
      expect((await create('c')).json['message']).toContain('no permission to scope export'),
    );
    await market.grant('provider', 'user-3', 'scope-marketplace', [
      { apiGroups: ['apis.kcp.io'], resources: ['apiexports'], resourceNames: ['marketplace'], verbs: ['scope'] },
    ]);
    await eventually(async () => mustSucceed(await create('c')));
    mustSucceed(await market.shared.requests.send({ method: 'DELETE', path: `${scopesPath}/c` }));
  });

  test('publish one endpoint per shard with consumers, which a partition narrows', async () => {
    const endpointsOf = async (name: string): Promise<string[]> => {
      const slice = mustSucceed(await market.shared.requests.send({ path: `${slicesPath}/${name}` })).json;
      const { endpoints = [] } = (slice['status'] ?? {}) as { endpoints?: { url: string }[] };
      return endpoints.map(({ url }) => url).sort();
    };
    const places = new Set([market.shared.clusters.get('near'), market.shared.clusters.get('far')]);
    expect(places.size).toBe(2);
    const bothShards = await endpointsOf('a');
    for (const url of bothShards) expect(url).toMatch(/^https:\/\/.*\/services\/apiexport-scope\/[a-z0-9]+\/a$/);
    const topology = '/clusters/root:provider/apis/topology.kcp.io/v1alpha1/partitions';
    await market.shared.post(topology, {
      apiVersion: 'topology.kcp.io/v1alpha1',
      kind: 'Partition',
      metadata: { name: 'root-only' },
      spec: { selector: { matchLabels: { name: 'root' } } },
    });
    await market.shared.post(slicesPath, {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScopeEndpointSlice',
      metadata: { name: 'a-root' },
      spec: { scope: { name: 'a' }, partition: 'root-only' },
    });
    await eventually(async () => expect((await endpointsOf('a-root')).length).toBe(1), { timeout: 30_000 });
    expect(bothShards).toEqual(expect.arrayContaining(await endpointsOf('a-root')));
  });

  test('of some resources have nothing else, and may share the label', async () => {
    for (const resource of ['networks', 'clusters']) {
      const body = scopeObject(`n-${resource}`, { resources: [{ group: 'marketplace.example', resource }] }, 'n');
      await market.shared.requests.must({ method: 'POST', path: scopesPath, body });
      await market.inForce(`n-${resource}`);
    }
    expect(await refusal(scopeObject('n-all', {}, 'n'))).toContain('overlaps with APIExportScope');
    await market.grant('provider', 'user-1', 'use-n', [
      { apiGroups: ['scopes.multiplane.dev'], resources: ['apiexportscopes/content'], verbs: ['*'] },
    ]);
    await eventually(async () => mustSucceed(await market.list('n-clusters', 'near', 'user-1')), { timeout: 30_000 });
    // As if the resource were not served.
    expect((await market.list('n-networks', 'near', 'user-1')).status).toBe(404);
    for (const name of ['n-networks', 'n-clusters']) await market.shared.remove(`${scopesPath}/${name}`);
  });

  test('have an endpoint slice of their name, unless that is skipped', async () => {
    const skip = { 'apiexportscopes.scopes.multiplane.dev/skip-endpointslice': '' };
    const body = { ...scopeObject('alone'), metadata: { name: 'alone', annotations: skip } };
    await market.shared.requests.must({ method: 'POST', path: scopesPath, body });
    await eventually(
      async () => {
        const { json } = mustSucceed(await market.shared.requests.send({ path: `${scopesPath}/alone` }));
        const { conditions } = json['status'] as { conditions?: { type: string; reason?: string }[] };
        expect(conditions?.find(({ type }) => type === 'EndpointsReady')?.reason).toBe('NoEndpointSlice');
      },
      { timeout: 30_000 },
    );
    expect((await market.shared.requests.send({ path: `${slicesPath}/alone` })).status).toBe(404);
    expect((await market.shared.requests.send({ path: `${slicesPath}/a` })).status).toBe(200);
    await market.shared.remove(`${scopesPath}/alone`);
  });

  test('are made by a set, one for each value', async () => {
    const path = scopesPath.replace('apiexportscopes', 'apiexportscopesets');
    await market.shared.post(path, {
      apiVersion: 'scopes.multiplane.dev/v1alpha1',
      kind: 'APIExportScopeSet',
      metadata: { name: 'tier' },
      spec: {
        export: { name: 'marketplace' },
        labelKey: 'marketplace.example/tier',
        values: ['gold', 'silver'],
        template: { transfer: 'WhenFinalizersGone' },
      },
    });
    const made = async (): Promise<string[]> => {
      const { json } = mustSucceed(await market.shared.requests.send({ path: scopesPath }));
      return (json['items'] as { metadata: { name: string }; spec: { transfer: string } }[])
        .filter(({ spec }) => spec.transfer === 'WhenFinalizersGone')
        .map(({ metadata }) => metadata.name);
    };
    await eventually(async () => expect(await made()).toEqual(['tier-gold', 'tier-silver']));
    await market.shared.patch(`${path}/tier`, { spec: { values: ['gold'] } });
    await eventually(async () => expect(await made()).toEqual(['tier-gold']));
    await market.shared.remove(`${path}/tier`);
    await eventually(async () => expect(await made()).toEqual([]), { timeout: 30_000 });
  });
});

test.each(['near', '*'])('a scope that does not exist is not found by who may read it, in %s', async (consumer) => {
  const { requests } = market.shared;
  for (const path of [
    market.in('typo', consumer),
    market.in('typo', consumer, 'one'),
    `${market.in('typo', consumer)}?watch=true`,
    `${market.base('typo')}/clusters/*/apis/x.y/v1/z`,
    `${market.base('typo')}/clusters/*/apis`,
    `/services/apiexport-scope/nowhere/typo/clusters/*/apis/x.y/v1/z`,
  ]) {
    const { status, json } = await requests.send({ path });
    expect({ path, status, message: json['message'] }).toEqual({
      path,
      status: 404,
      message: 'apiexportscopes.scopes.multiplane.dev "typo" not found',
    });
    expect([path, (await requests.send({ as: 'user-2', path })).status]).toEqual([path, 403]);
  }
});

test('a deleted scope is not found, and its open watches end with 410', async () => {
  await market.createScope('passing');
  await market.inForce('passing');
  await market.grant('provider', 'user-1', 'use-passing', [
    { apiGroups: ['scopes.multiplane.dev'], resources: ['apiexportscopes/content'], verbs: ['*'] },
  ]);
  await eventually(async () => mustSucceed(await market.list('passing', 'far', 'user-1')), { timeout: 30_000 });
  const watch = await market.shared.requests.watch(`${market.in('passing', 'far')}?watch=true`, 'user-1');
  expect(watch.status).toBe(200);
  await market.shared.remove(`${scopesPath}/passing`);
  await eventually(() => expect(watch.ended).toBe(true), { timeout: 30_000 });
  expect(watch.events.at(-1)).toMatchObject({
    type: 'ERROR',
    object: { kind: 'Status', code: 410, message: 'APIExportScope "passing" was deleted or is not in force any more' },
  });
  for (const consumer of ['near', 'far'])
    await eventually(async () => expect((await market.list('passing', consumer, 'user-1')).status).toBe(404), {
      timeout: 30_000,
    });
});

test('a definition of a tenant cannot take the place of the kinds of scopes', async () => {
  const group = 'scopes.multiplane.dev';
  const names = { plural: 'apiexportscopes', singular: 'apiexportscope', kind: 'APIExportScope', listKind: 'Scopes' };
  const definitions = '/clusters/root:far/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  mustSucceed(
    await market.shared.requests.send({
      as: 'user-3',
      method: 'POST',
      path: definitions,
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${names.plural}.${group}` },
        spec: { group, scope: 'Cluster', names, versions: [{ name: 'v1alpha1', served: true, storage: true, schema }] },
      },
    }),
  );
  await eventually(async () => {
    const { json } = await market.shared.requests.send({ path: `${definitions}/${names.plural}.${group}` });
    expect(json['status']).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'NamesAccepted', status: 'False' })]),
    });
  });
  const created = await market.shared.requests.send({
    as: 'user-3',
    method: 'POST',
    path: `/clusters/root:far/apis/${group}/v1alpha1/apiexportscopes`,
    body: scopeObject('forged'),
  });
  expect(created.status).toBe(404);
});
