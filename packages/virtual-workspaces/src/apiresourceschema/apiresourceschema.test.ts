import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIBinding } from '@multiplane/apis';
import { eventually } from '@multiplane/testing';
import { FakeShard, type OpenStream } from '../test-support/fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from '../test-support/shared-apis.ts';

const view = '/services/apiresourceschema/consumer/apis/apis.kcp.io/v1alpha1/apiresourceschemas';
const widgets = 'v1.widgets.example.dev';

let shard: FakeShard;
beforeEach(() => {
  shard = new FakeShard();
  shard.informer(apiResourceSchemas).put(schemaOf());
  shard.informer(apiExports).put(exportOf());
  shard.informer(apiBindings).put(bindingOf());
});

afterEach(() => shard.close());

interface List {
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly KubeObject[];
}
const json = async (url: string, accept = 'application/json'): Promise<JsonObject> =>
  JSON.parse((await shard.ask(url, { headers: { accept } })).body.toString()) as JsonObject;
const list = async (url = view): Promise<List> => (await json(url)) as unknown as List;
const placesOf = ({ items }: List): string[] =>
  items.map(({ metadata }) => `${metadata.annotations?.['kcp.io/cluster'] ?? ''}/${metadata.name ?? ''}`);
/** What a watch was told: types and names. */
const told = (stream: OpenStream): string[] =>
  stream.events.map(({ type, object }) => `${type} ${(object['metadata'] as { name?: string }).name ?? ''}`.trim());
const bind = (changes: Partial<NonNullable<APIBinding['status']>> = {}): void => {
  const binding = bindingOf();
  shard.informer(apiBindings).put({ ...binding, status: { ...binding.status, ...changes } });
};

describe('the schemas of what is bound', () => {
  test('are read by whoever may read the bindings, whose right it is to do no more', async () => {
    const asked: unknown[] = [];
    shard.allows = (spec, cluster) => {
      asked.push([cluster, spec['resourceAttributes']]);
      return true;
    };
    expect(placesOf(await list())).toEqual([`provider/${widgets}`]);
    expect(asked).toMatchObject([
      ['consumer', { verb: 'list', group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apibindings' }],
    ]);
    expect((await shard.ask(view, { method: 'DELETE' })).status).toBe(403);
    const reason = 'request.auth.kcp.io/virtual.apiresourceschema.authorization.kcp.io-reason';
    expect(shard.told.at(-1)?.annotations?.[reason]).toBe('only read-only access is allowed to apiresourceschemas');
    shard.allows = () => false;
    expect((await shard.ask(view)).status).toBe(403);
    expect(shard.told.at(-1)?.annotations?.[reason]).toBe(
      'consumer cluster: "consumer" RBAC decision: no - user needs permission to read apibindings',
    );
  });

  test('have the logical cluster in their path once or twice, and no other', async () => {
    const below = `apis/apis.kcp.io/v1alpha1/apiresourceschemas/${widgets}`;
    for (const path of ['', 'clusters/consumer/', 'clusters/*/'])
      expect([path, await json(`/services/apiresourceschema/consumer/${path}${below}`)]).toMatchObject([
        path,
        { kind: 'APIResourceSchema', metadata: { name: widgets } },
      ]);
    for (const path of ['consumer/clusters/provider', 'root:consumer'])
      expect((await shard.ask(`/services/apiresourceschema/${path}/${below}`)).status).toBe(403);
  });

  test('are found by discovery, one by one, and as a table', async () => {
    expect(await json('/services/apiresourceschema/consumer/apis/apis.kcp.io/v1alpha1')).toMatchObject({
      resources: [{ name: 'apiresourceschemas', verbs: ['get', 'list', 'watch'] }],
    });
    expect((await shard.ask(`${view}/nosuch`)).status).toBe(404);
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    for (const url of [view, `${view}/${widgets}`])
      expect(await json(url, table)).toMatchObject({ kind: 'Table', rows: [{ cells: [widgets, null] }] });
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    expect(await json(view, partial)).toMatchObject({ items: [{ kind: 'PartialObjectMetadata' }] });
    const yaml = await shard.ask(view, { headers: { accept: 'application/yaml' } });
    expect(yaml.body.toString()).toContain(`name: ${widgets}`);
  });

  test('are selected by labels and by name', async () => {
    expect((await list(`${view}?fieldSelector=metadata.name%3Dother`)).items).toEqual([]);
    expect((await list(`${view}?fieldSelector=metadata.name%3D${widgets}`)).items).toHaveLength(1);
    expect((await list(`${view}?labelSelector=a`)).items).toEqual([]);
    expect((await shard.ask(`${view}?fieldSelector=spec.group%3Dx`)).status).toBe(400);
  });

  test('are those of all providers, also where two have one name for theirs (C16.3)', async () => {
    shard.informer(apiResourceSchemas).put(schemaOf({ cluster: 'another', uid: 'other' }));
    shard.informer(apiExports).put(exportOf({}, { cluster: 'another', identity: 'id2' }));
    shard.informer(apiBindings).put(bindingOf({}, { name: 'a-second', exportCluster: 'another' }));
    expect(placesOf(await list())).toEqual([`another/${widgets}`, `provider/${widgets}`]);
  });

  test('are none before something is bound', async () => {
    bind({ phase: 'Binding' });
    expect(await list()).toMatchObject({ kind: 'APIResourceSchemaList', items: [] });
    bind({ apiExportClusterName: '' });
    expect((await list()).items).toEqual([]);
  });
});

describe('a watch of them (C16.3)', () => {
  test('begins with what is there, unless a version says that it is known', async () => {
    const { metadata } = await list();
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(0);
    const all = shard.open(`${view}?watch=1`);
    const more = shard.open(`${view}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    await eventually(() => expect(told(all)).toEqual([`ADDED ${widgets}`]));
    shard.informer(apiResourceSchemas).put(schemaOf({ plural: 'gadgets', kind: 'Gadget' }));
    const gadgets = { name: 'gadgets', group: 'example.dev', schema: 'v1.gadgets.example.dev' };
    const things = { name: 'widgets', group: 'example.dev', schema: widgets };
    shard.informer(apiExports).put(exportOf({ resources: [things, gadgets] }));
    await eventually(() => expect(told(more)).toEqual(['ADDED v1.gadgets.example.dev']));
    shard.informer(apiExports).put(exportOf({ resources: [gadgets] }));
    await eventually(() =>
      expect(told(all)).toEqual([`ADDED ${widgets}`, 'ADDED v1.gadgets.example.dev', `DELETED ${widgets}`]),
    );
    expect([all.ended, more.ended]).toEqual([false, false]);
    const versions = all.events.map(({ object }) =>
      Number((object['metadata'] as { resourceVersion: string }).resourceVersion),
    );
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  });

  test('goes on after what another one was told last', async () => {
    const first = shard.open(`${view}?watch=1`);
    await eventually(() => expect(first.events).toHaveLength(1));
    const { resourceVersion } = first.events[0]!.object['metadata'] as { resourceVersion: string };
    shard.informer(apiBindings).put(bindingOf({}, { cluster: 'somebody-else' }));
    const second = shard.open(`${view}?watch=1&resourceVersion=${resourceVersion}`);
    await eventually(() => expect(second.started).toBe(true));
    shard.informer(apiBindings).remove(bindingOf());
    await eventually(() => expect(told(second)).toEqual([`DELETED ${widgets}`]));
  });

  test('tells that a version is too old, of another server, or behind a change of what is seen', async () => {
    const { metadata } = await list();
    bind({ phase: 'Binding' });
    for (const version of [metadata.resourceVersion, '5', String(Number(metadata.resourceVersion) + 1)]) {
      const stream = shard.open(`${view}?watch=1&resourceVersion=${version}`);
      await eventually(() => expect(stream.ended).toBe(true));
      expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    }
  });

  test('marks the end of the beginning for those who ask', async () => {
    const stream = shard.open(
      `${view}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    );
    await eventually(() => expect(told(stream)).toEqual([`ADDED ${widgets}`, 'BOOKMARK']));
    expect(stream.events[1]).toMatchObject({
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
  });

  test('ends when its time is over, or the client goes', async () => {
    const short = shard.open(`${view}?watch=1&timeoutSeconds=1`);
    await eventually(() => expect(short.ended).toBe(true));
    const long = shard.open(`${view}?watch=1`);
    await eventually(() => expect(long.events).toHaveLength(1));
    long.abort();
    await long.handled;
  });
});
