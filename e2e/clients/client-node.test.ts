import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  VersionApi,
  Watch,
  type V1ConfigMap,
} from '@kubernetes/client-node';
import { eventually } from '@multiplane/testing';
import { gadget, gadgetDefinition } from '../fixtures/gadgets.ts';
import { LocalCluster, testTokens } from '../harness/local-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

let cluster: LocalCluster;
let config: KubeConfig;
let core: CoreV1Api;
const namespace = 'e2e';

beforeAll(async () => {
  cluster = await LocalCluster.start();
  const admin = cluster.transport('shard-base');
  const path = await createWorkspace(admin, 'root', 'clients');
  admin.close();
  config = new KubeConfig();
  config.loadFromString(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'e2e',
          cluster: {
            server: `${cluster.url}/clusters/${path}`,
            'certificate-authority-data': Buffer.from(cluster.ca).toString('base64'),
          },
        },
      ],
      users: [{ name: 'e2e', user: { token: testTokens.masters } }],
      contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: 'e2e' } }],
      'current-context': 'e2e',
    }),
  );
  core = config.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: namespace } } });
}, 120_000);

afterAll(() => cluster?.[Symbol.asyncDispose]());

const configMap = (name: string, data: Record<string, string> = {}): V1ConfigMap => ({
  metadata: { name, labels: { client: 'node' } },
  data,
});
const listConfigMaps = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'client=node' });

test('version and discovery through the typed client', async () => {
  expect(await config.makeApiClient(VersionApi).getCode()).toMatchObject({ major: '1', minor: '36' });
  const resources = await core.getAPIResources();
  expect(resources.resources.find(({ name }) => name === 'configmaps')).toMatchObject({
    kind: 'ConfigMap',
    namespaced: true,
  });
});

test('create, get, list, replace, patch and delete', async () => {
  const created = await core.createNamespacedConfigMap({ namespace, body: configMap('a', { k: '1' }) });
  expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
  const replaced = await core.replaceNamespacedConfigMap({
    name: 'a',
    namespace,
    body: { metadata: created.metadata ?? {}, data: { k: '2' } },
  });
  expect(replaced.data).toEqual({ k: '2' });
  await expect(core.replaceNamespacedConfigMap({ name: 'a', namespace, body: created })).rejects.toMatchObject({
    code: 409,
  });
  const patched = await core.patchNamespacedConfigMap(
    { name: 'a', namespace, body: { data: { more: '3' } } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
  expect(patched.data).toEqual({ k: '2', more: '3' });
  const byJsonPatch = await core.patchNamespacedConfigMap({
    name: 'a',
    namespace,
    body: [{ op: 'remove', path: '/data/k' }],
  });
  expect(byJsonPatch.data).toEqual({ more: '3' });
  expect((await listConfigMaps()).items.map(({ metadata }) => metadata?.name)).toEqual(['a']);
  expect(await core.deleteNamespacedConfigMap({ name: 'a', namespace })).toMatchObject({ status: 'Success' });
  await expect(core.readNamespacedConfigMap({ name: 'a', namespace })).rejects.toMatchObject({ code: 404 });
});

test('the generic client works with any kind that discovery names', async () => {
  const objects = KubernetesObjectApi.makeApiClient(config);
  await objects.create(gadgetDefinition);
  const created = await eventually(() =>
    objects.create({ ...gadget('g', { color: 'blue' }), metadata: { name: 'g', namespace } }),
  );
  expect(created).toMatchObject({ kind: 'Gadget', spec: { color: 'blue' } });
  const patched = await objects.patch(
    {
      apiVersion: 'e2e.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g', namespace },
      spec: { color: 'green' },
    } as Parameters<typeof objects.create>[0],
    undefined,
    undefined,
    undefined,
    undefined,
    PatchStrategy.MergePatch,
  );
  expect(patched).toMatchObject({ spec: { color: 'green' } });
  const custom = config.makeApiClient(CustomObjectsApi);
  const listed = (await custom.listNamespacedCustomObject({
    group: 'e2e.example.com',
    version: 'v1',
    namespace,
    plural: 'gadgets',
  })) as { items: unknown[] };
  expect(listed.items).toMatchObject([{ metadata: { name: 'g' }, spec: { color: 'green' } }]);
  await objects.delete(patched);
  await expect(
    objects.read({ apiVersion: 'e2e.example.com/v1', kind: 'Gadget', metadata: { name: 'g', namespace } }),
  ).rejects.toMatchObject({ code: 404 });
});

test('a watch reports changes until it is aborted', async () => {
  const seen: string[] = [];
  const { metadata } = await listConfigMaps();
  const controller = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: metadata?.resourceVersion ?? '', labelSelector: 'client=node', allowWatchBookmarks: true },
    (type, object: V1ConfigMap) => void seen.push(`${type} ${object.metadata?.name}`),
    () => undefined,
  );
  await core.createNamespacedConfigMap({ namespace, body: configMap('watched') });
  await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
  await eventually(() =>
    expect(seen.filter((line) => !line.startsWith('BOOKMARK'))).toEqual(['ADDED watched', 'DELETED watched']),
  );
  controller.abort();
});

test('an informer keeps its cache right over a restart and a crash of the server', async () => {
  const events: string[] = [];
  const informer = makeInformer<V1ConfigMap>(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    listConfigMaps,
    'client=node',
  );
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(
      verb,
      (object) => void events.push(`${verb} ${object.metadata?.name} ${object.data?.['v'] ?? ''}`.trim()),
    );
  let stopped = false;
  // As the client's documentation tells its users to.
  informer.on('error', () => void delay(20).then(() => (stopped ? undefined : informer.start())));
  const cached = (): Record<string, string | undefined> =>
    Object.fromEntries(informer.list(namespace).map(({ metadata, data }) => [metadata?.name ?? '', data?.['v']]));

  await core.createNamespacedConfigMap({ namespace, body: configMap('first', { v: '1' }) });
  await informer.start();
  await eventually(() => expect(cached()).toEqual({ first: '1' }));

  await cluster.process.restart();
  await core.createNamespacedConfigMap({ namespace, body: configMap('second', { v: '1' }) });
  await eventually(() => expect(cached()).toEqual({ first: '1', second: '1' }), { timeout: 20_000 });

  await cluster.process.kill();
  await cluster.process.start();
  await core.patchNamespacedConfigMap(
    { name: 'first', namespace, body: { data: { v: '2' } } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
  await core.deleteNamespacedConfigMap({ name: 'second', namespace });
  await eventually(() => expect(cached()).toEqual({ first: '2' }), { timeout: 20_000 });
  stopped = true;
  await informer.stop();
  expect(events).toEqual(['add first 1', 'add second 1', 'update first 2', 'delete second 1']);
}, 240_000);
