import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiConversions, type APIBinding } from '@multiplane/apis';
import { workspaces } from '@multiplane/controllers';
import { eventually } from '@multiplane/testing';
import { hat, hats, ApiSharingShard, versionOf } from '@multiplane/testing/shard';

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });
const configMaps = core('configmaps');
const root = 'root' as LogicalClusterName;
const mergePatch = 'application/merge-patch+json';

let on: ApiSharingShard;
beforeAll(async () => {
  on = await ApiSharingShard.start();
}, 120_000);
afterAll(async () => {
  await on?.[Symbol.asyncDispose]();
});

/** A provider with an APIExport of hats, and a consumer that has bound it. */
async function bound(): Promise<{ provider: LogicalClusterName; consumer: LogicalClusterName; identity: string }> {
  const [provider, consumer] = await Promise.all([on.workspace(), on.workspace()]);
  const identity = await on.export(provider, 'things', await on.schema(provider));
  await on.bind(consumer, provider, 'things');
  return { provider, consumer, identity };
}

const everywhere = (identity: string): string => `/clusters/*/apis/example.dev/v1/hats:${identity}`;
const at = (cluster: LogicalClusterName, name: string, namespace = 'default') => ({ cluster, namespace, name });
const gone = (resource: GroupVersionResource, reference: ReturnType<typeof at>): Promise<void> =>
  eventually(() =>
    expect(on.client.get(resource, reference)).rejects.toMatchObject({
      code: 404,
    }),
  );

describe('a bound resource', () => {
  test('appears in discovery and OpenAPI at once, and disappears with its binding', async () => {
    const { consumer } = await bound();
    const paths = async (): Promise<string[]> =>
      Object.keys(((await on.get(`/clusters/${consumer}/openapi/v3`)) as { paths: JsonObject }).paths);
    expect(await on.get(`/clusters/${consumer}/apis/example.dev/v1`)).toMatchObject({
      resources: [{ name: 'hats' }, { name: 'hats/status' }],
    });
    expect(await paths()).toContain('apis/example.dev/v1');
    await on.client.create(hats, consumer, hat('a'));
    await on.client.delete(apiBindings, at(consumer, 'things', ''));
    await gone(apiBindings, at(consumer, 'things', ''));
    await expect(on.get(`/clusters/${consumer}/apis/example.dev/v1`)).rejects.toMatchObject({ code: 404 });
    expect(await paths()).not.toContain('apis/example.dev/v1');
  }, 120_000);

  test('is deleted with its namespace', async () => {
    const { consumer, identity } = await bound();
    await on.client.create(core('namespaces'), consumer, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'short' },
    });
    await on.client.create(hats, consumer, hat('a', {}, { namespace: 'short' }));
    await on.client.create(hats, consumer, hat('b'));
    await on.client.delete(core('namespaces'), at(consumer, 'short', ''));
    await gone(core('namespaces'), at(consumer, 'short', ''));
    expect(await on.names(everywhere(identity))).toEqual(['b']);
  }, 120_000);

  test('is deleted with its workspace', async () => {
    const { identity } = await bound();
    const consumer = on.workspaceName();
    const { spec } = await on.client.get(workspaces, at(root, consumer, ''));
    const cluster = (spec as { cluster: LogicalClusterName }).cluster;
    const bindings = await on.client.list(apiBindings, { cluster });
    if (!bindings.items.some(({ metadata }) => metadata.name === 'things')) throw new Error('this is not the consumer');
    await on.client.create(hats, cluster, hat('a'));
    await on.client.delete(workspaces, at(root, consumer, ''));
    await gone(workspaces, at(root, consumer, ''));
    expect(await on.names(everywhere(identity))).toEqual([]);
  }, 120_000);

  test('can own objects and be owned', async () => {
    const { consumer } = await bound();
    const owner = await on.client.create(hats, consumer, hat('owner'));
    const ownerReferences = [
      { apiVersion: 'example.dev/v1', kind: 'Hat', name: 'owner', uid: owner.metadata.uid ?? '' },
    ];
    await on.client.create(configMaps, consumer, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owned', namespace: 'default', ownerReferences },
    });
    await on.client.create(hats, consumer, hat('owned', {}, { ownerReferences }));
    await on.client.delete(hats, at(consumer, 'owner'), { propagationPolicy: 'Background' });
    await gone(configMaps, at(consumer, 'owned'));
    await gone(hats, at(consumer, 'owned'));
    expect((await on.client.list(hats, { cluster: consumer })).items).toEqual([]);
  }, 120_000);

  test('counts towards quotas at once', async () => {
    const { consumer } = await bound();
    const quotas = core('resourcequotas');
    await on.client.create(hats, consumer, hat('first'));
    await on.client.create(quotas, consumer, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'few', namespace: 'default' },
      spec: { hard: { 'count/hats.example.dev': '2' } },
    });
    const used = async (): Promise<unknown> => {
      const { status } = await on.client.get(quotas, at(consumer, 'few'));
      return (status as { used?: JsonObject } | undefined)?.used;
    };
    await eventually(async () => expect(await used()).toEqual({ 'count/hats.example.dev': '1' }));
    await on.client.create(hats, consumer, hat('second'));
    await expect(on.client.create(hats, consumer, hat('third'))).rejects.toMatchObject({ code: 403 });
    await on.client.delete(hats, at(consumer, 'first'));
    await eventually(async () => expect(await used()).toEqual({ 'count/hats.example.dev': '1' }));
  }, 120_000);
});

describe('an export', () => {
  test('that shares its schema with another export keeps separate storage', async () => {
    const [provider, one, two] = await Promise.all([on.workspace(), on.workspace(), on.workspace()]);
    const schema = await on.schema(provider);
    const [first, second] = [await on.export(provider, 'first', schema), await on.export(provider, 'second', schema)];
    // Its objects can be listed before the first binding: the list is empty.
    expect(await on.names(everywhere(first))).toEqual([]);
    await on.bind(one, provider, 'first');
    await on.bind(two, provider, 'second');
    await on.client.create(hats, one, hat('of-first'));
    await on.client.create(hats, two, hat('of-second'));
    expect(await on.names(everywhere(first))).toEqual(['of-first']);
    expect(await on.names(everywhere(second))).toEqual(['of-second']);
    await expect(on.get(everywhere('guessed'))).rejects.toMatchObject({ code: 404 });
  }, 120_000);

  test('changes the schema of all its bindings', async () => {
    const { provider, consumer } = await bound();
    await on.client.create(hats, consumer, hat('old', { size: 1 }));
    const sized = versionOf('v1', { type: 'object', properties: { size: { type: 'integer' } } }, { storage: false });
    const colored = versionOf('v2', { type: 'object', properties: { color: { type: 'string' } } });
    await on.offer(provider, 'things', await on.schema(provider, { prefix: 'v2', versions: [sized, colored] }));
    await eventually(async () =>
      expect(await on.get(`/clusters/${consumer}/apis/example.dev`)).toMatchObject({ versions: [{}, {}] }),
    );
    expect(await on.client.get(hats, at(consumer, 'old'))).toMatchObject({ spec: { size: 1 } });
    const second = { ...hats, version: 'v2' };
    expect(await on.client.get(second, at(consumer, 'old'))).toMatchObject({ apiVersion: 'example.dev/v2', spec: {} });
  }, 120_000);

  test('converts between versions by APIConversion rules, including rules that are added later', async () => {
    const [provider, consumer] = await Promise.all([on.workspace(), on.workspace()]);
    const sized = versionOf('v1', { type: 'object', properties: { size: { type: 'integer' } } });
    const wide = versionOf('v2', { type: 'object', properties: { width: { type: 'integer' } } }, { storage: false });
    const schema = await on.schema(provider, { versions: [sized, wide] });
    await on.export(provider, 'things', schema);
    await on.bind(consumer, provider, 'things');
    await on.client.create(hats, consumer, hat('a', { size: 4 }));
    const second = { ...hats, version: 'v2' };
    expect((await on.client.get(second, at(consumer, 'a')))['spec']).toEqual({});
    const rule = (field: string, destination: string, transformation: string): JsonObject => ({
      field: `spec.${field}`,
      destination: `spec.${destination}`,
      transformation,
    });
    await on.client.create(apiConversions, provider, {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: schema },
      spec: {
        conversions: [
          { from: 'v1', to: 'v2', rules: [rule('size', 'width', 'self * 2')] },
          { from: 'v2', to: 'v1', rules: [rule('width', 'size', 'self / 2')] },
        ],
      },
    });
    await eventually(async () =>
      expect((await on.client.get(second, at(consumer, 'a')))['spec']).toEqual({ width: 8 }),
    );
    await on.client.patch(second, at(consumer, 'a'), mergePatch, { spec: { width: 10 } });
    expect((await on.client.get(hats, at(consumer, 'a')))['spec']).toEqual({ size: 5 });
  }, 120_000);

  test('with the name of a built-in kind does not expose its objects; kcp binds it', async () => {
    const [provider, consumer] = await Promise.all([on.workspace(), on.workspace()]);
    const schema = await on.schema(provider, { group: '', plural: 'secrets', kind: 'Secret' });
    const identity = await on.export(provider, 'shadow', schema);
    expect(await on.names(`/clusters/*/api/v1/secrets:${identity}`)).toEqual([]);
    await on.client.create(apiBindings, consumer, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'shadow' },
      spec: { reference: { export: { path: provider, name: 'shadow' } } },
    });
    await eventually(async () => {
      const { status } = (await on.client.get(apiBindings, at(consumer, 'shadow', ''))) as APIBinding;
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({
          type: 'BindingUpToDate',
          message:
            'Unable to bind APIs: naming conflict with the built-in "secrets": spec.names.plural=secrets is forbidden',
        }),
      );
      expect(status?.boundResources).toBeUndefined();
    });
    await expect(on.get(`/clusters/${consumer}/api/v1/secrets:${identity}`)).rejects.toMatchObject({ code: 404 });
  }, 120_000);

  test('restores Kubernetes kinds with columns, merge keys and protobuf, in the core group', async () => {
    const [provider, consumer] = await Promise.all([on.workspace(), on.workspace()]);
    const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const versions = [versionOf('v1', anything)];
    await on.export(
      provider,
      'things',
      await on.schema(provider, { group: '', plural: 'pods', kind: 'Pod', versions }),
    );
    await on.bind(consumer, provider, 'things');
    const { resources } = (await on.get(`/clusters/${consumer}/api/v1`)) as unknown as {
      resources: { name: string }[];
    };
    const names = resources.map(({ name }) => name);
    expect(names).toContain('pods');
    expect(names).toEqual(names.toSorted((a, b) => (a < b ? -1 : 1)));
    const pod: KubeObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default' },
      spec: { containers: [{ name: 'a', image: 'x' }] },
    };
    await on.client.create(core('pods'), consumer, pod);
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect(await on.get(`/clusters/${consumer}/api/v1/namespaces/default/pods`, table)).toMatchObject({
      kind: 'Table',
      columnDefinitions: expect.arrayContaining([expect.objectContaining({ name: 'Restarts' })]),
    });
    // Strategic merge patch merges containers by name.
    const { spec } = await on.client.patch(core('pods'), at(consumer, 'p'), 'application/strategic-merge-patch+json', {
      spec: { containers: [{ name: 'b', image: 'y' }] },
    });
    expect((spec as { containers: { name: string }[] }).containers.map(({ name }) => name).toSorted()).toEqual([
      'a',
      'b',
    ]);
    const response = await on.shard.transport.open({
      method: 'GET',
      path: `/clusters/${consumer}/api/v1/namespaces/default/pods/p`,
      accept: 'application/vnd.kubernetes.protobuf',
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(Buffer.concat(chunks).subarray(0, 4).toString('latin1')).toBe('k8s\0');
  }, 120_000);
});
