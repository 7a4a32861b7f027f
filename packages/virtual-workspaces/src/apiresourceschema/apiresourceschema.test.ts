import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIBinding } from '@multiplane/apis';
import { eventually } from '@multiplane/testing';
import { FakeShard, type OpenStream } from '../../test/fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from '../../test/shared-apis.ts';

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
  JSON.parse((await shard.send(url, { headers: { accept } })).body.toString()) as JsonObject;
const list = async (url = view): Promise<List> => (await json(url)) as unknown as List;
const placesOf = ({ items }: List): string[] =>
  items.map(({ metadata }) => `${metadata.annotations?.['kcp.io/cluster'] ?? ''}/${metadata.name ?? ''}`);
/** Types and names of the events of a watch. */
const eventsOf = (stream: OpenStream): string[] =>
  stream.events.map(({ type, object }) => `${type} ${(object['metadata'] as { name?: string }).name ?? ''}`.trim());
const bind = (changes: Partial<NonNullable<APIBinding['status']>> = {}): void => {
  const binding = bindingOf();
  shard.informer(apiBindings).put({ ...binding, status: { ...binding.status, ...changes } });
};

describe('the APIResourceSchema virtual workspace', () => {
  test('is readable for callers that may read bindings, and read-only', async () => {
    const asked: unknown[] = [];
    shard.allows = (spec, cluster) => {
      asked.push([cluster, spec['resourceAttributes']]);
      return true;
    };
    expect(placesOf(await list())).toEqual([`provider/${widgets}`]);
    expect(asked).toMatchObject([
      ['consumer', { verb: 'list', group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apibindings' }],
    ]);
    expect((await shard.send(view, { method: 'DELETE' })).status).toBe(403);
    const reason = 'request.auth.kcp.io/virtual.apiresourceschema.authorization.kcp.io-reason';
    expect(shard.auditEvents.at(-1)?.annotations?.[reason]).toBe(
      'only read-only access is allowed to apiresourceschemas',
    );
    shard.allows = () => false;
    expect((await shard.send(view)).status).toBe(403);
    expect(shard.auditEvents.at(-1)?.annotations?.[reason]).toBe(
      'consumer cluster: "consumer" RBAC decision: no - user needs permission to read apibindings',
    );
  });

  test('accepts the consumer once or twice in the path', async () => {
    const below = `apis/apis.kcp.io/v1alpha1/apiresourceschemas/${widgets}`;
    for (const path of ['', 'clusters/consumer/', 'clusters/*/'])
      expect([path, await json(`/services/apiresourceschema/consumer/${path}${below}`)]).toMatchObject([
        path,
        { kind: 'APIResourceSchema', metadata: { name: widgets } },
      ]);
    for (const path of ['consumer/clusters/provider', 'root:consumer'])
      expect((await shard.send(`/services/apiresourceschema/${path}/${below}`)).status).toBe(403);
  });

  test('serves discovery, single objects and tables', async () => {
    expect(await json('/services/apiresourceschema/consumer/apis/apis.kcp.io/v1alpha1')).toMatchObject({
      resources: [{ name: 'apiresourceschemas', verbs: ['get', 'list', 'watch'] }],
    });
    expect((await shard.send(`${view}/nosuch`)).status).toBe(404);
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    for (const url of [view, `${view}/${widgets}`])
      expect(await json(url, table)).toMatchObject({ kind: 'Table', rows: [{ cells: [widgets, null] }] });
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    expect(await json(view, partial)).toMatchObject({ items: [{ kind: 'PartialObjectMetadata' }] });
    const yaml = await shard.send(view, { headers: { accept: 'application/yaml' } });
    expect(yaml.body.toString()).toContain(`name: ${widgets}`);
  });

  test('selects by labels and by name', async () => {
    expect((await list(`${view}?fieldSelector=metadata.name%3Dother`)).items).toEqual([]);
    expect((await list(`${view}?fieldSelector=metadata.name%3D${widgets}`)).items).toHaveLength(1);
    expect((await list(`${view}?labelSelector=a`)).items).toEqual([]);
    expect((await shard.send(`${view}?fieldSelector=spec.group%3Dx`)).status).toBe(400);
  });

  test('lists schemas of all providers, including equal names', async () => {
    shard.informer(apiResourceSchemas).put(schemaOf({ cluster: 'another', uid: 'other' }));
    shard.informer(apiExports).put(exportOf({}, { cluster: 'another', identity: 'id2' }));
    shard.informer(apiBindings).put(bindingOf({}, { name: 'a-second', exportCluster: 'another' }));
    expect(placesOf(await list())).toEqual([`another/${widgets}`, `provider/${widgets}`]);
  });

  test('is empty without bindings', async () => {
    bind({ phase: 'Binding' });
    expect(await list()).toMatchObject({ kind: 'APIResourceSchemaList', items: [] });
    bind({ apiExportClusterName: '' });
    expect((await list()).items).toEqual([]);
  });
});

describe('a watch', () => {
  test('starts with the current objects unless it has a version', async () => {
    const { metadata } = await list();
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(0);
    const all = shard.open(`${view}?watch=1`);
    const more = shard.open(`${view}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    await eventually(() => expect(eventsOf(all)).toEqual([`ADDED ${widgets}`]));
    shard.informer(apiResourceSchemas).put(schemaOf({ plural: 'gadgets', kind: 'Gadget' }));
    const gadgets = { name: 'gadgets', group: 'example.dev', schema: 'v1.gadgets.example.dev' };
    const things = { name: 'widgets', group: 'example.dev', schema: widgets };
    shard.informer(apiExports).put(exportOf({ resources: [things, gadgets] }));
    await eventually(() => expect(eventsOf(more)).toEqual(['ADDED v1.gadgets.example.dev']));
    shard.informer(apiExports).put(exportOf({ resources: [gadgets] }));
    await eventually(() =>
      expect(eventsOf(all)).toEqual([`ADDED ${widgets}`, 'ADDED v1.gadgets.example.dev', `DELETED ${widgets}`]),
    );
    expect([all.ended, more.ended]).toEqual([false, false]);
    const versions = all.events.map(({ object }) =>
      Number((object['metadata'] as { resourceVersion: string }).resourceVersion),
    );
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  });

  test('resumes from the last version of another watch', async () => {
    const first = shard.open(`${view}?watch=1`);
    await eventually(() => expect(first.events).toHaveLength(1));
    const { resourceVersion } = first.events[0]!.object['metadata'] as { resourceVersion: string };
    shard.informer(apiBindings).put(bindingOf({}, { cluster: 'other' }));
    const second = shard.open(`${view}?watch=1&resourceVersion=${resourceVersion}`);
    await eventually(() => expect(second.started).toBe(true));
    shard.informer(apiBindings).remove(bindingOf());
    await eventually(() => expect(eventsOf(second)).toEqual([`DELETED ${widgets}`]));
  });

  test('returns 410 for versions that are too old, of another server, or before an affecting change', async () => {
    const { metadata } = await list();
    bind({ phase: 'Binding' });
    for (const version of [metadata.resourceVersion, '5', String(Number(metadata.resourceVersion) + 1)]) {
      const stream = shard.open(`${view}?watch=1&resourceVersion=${version}`);
      await eventually(() => expect(stream.ended).toBe(true));
      expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
    }
  });

  test('sends the initial-events-end bookmark', async () => {
    const stream = shard.open(
      `${view}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    );
    await eventually(() => expect(eventsOf(stream)).toEqual([`ADDED ${widgets}`, 'BOOKMARK']));
    expect(stream.events[1]).toMatchObject({
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
  });

  test('ends with the timeout or the client', async () => {
    const short = shard.open(`${view}?watch=1&timeoutSeconds=1`);
    await eventually(() => expect(short.ended).toBe(true));
    const long = shard.open(`${view}?watch=1`);
    await eventually(() => expect(long.events).toHaveLength(1));
    long.abort();
    await long.handled;
  });
});
