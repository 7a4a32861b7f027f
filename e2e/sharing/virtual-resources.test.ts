import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import { SharedApis } from '../harness/shared-apis.ts';
import { cachedResourcePath, namesOf, VirtualResources } from '../harness/virtual-resources.ts';
import { field, grantAccess } from '../harness/workspaces.ts';

/**
 * The story of the documentation: a provider publishes flavours, consumers read them in their own workspaces. `images` are
 * namespaced.
 */
const group = 'cloud.example.com';
const patient = { timeout: 30_000 };
const spec: JsonObject = { type: 'object', properties: { cpus: { type: 'integer' } } };

let shared: SharedApis;
let virtual: VirtualResources;

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  virtual = new VirtualResources(shared);
  await virtual.define({ group, plural: 'cpuflavors', kind: 'CpuFlavor', scope: 'Cluster', spec });
  await virtual.define({ group, plural: 'images', kind: 'Image', scope: 'Namespaced', spec });
  await eventually(() => shared.post(provided('cpuflavors'), flavor('small', 1)), patient);
  await shared.post(provided('cpuflavors'), flavor('large', 16));
  await shared.post(provided('cpuflavors'), { ...flavor('secret', 64), metadata: { name: 'secret' } });
  await eventually(() => shared.post(provided('images', 'default'), image('debian')), patient);
}, 240_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const flavor = (name: string, cpus: number): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind: 'CpuFlavor',
  metadata: { name, labels: { visibility: 'Public' } },
  spec: { cpus },
});
const image = (name: string): KubeObject => ({ apiVersion: `${group}/v1`, kind: 'Image', metadata: { name } });
const objects = (workspace: string, plural: string, namespace = ''): string =>
  virtual.path(workspace, plural, namespace);
const provided = (plural: string, namespace = ''): string => objects('provider', plural, namespace);
describe('flavours of a provider', () => {
  test('are published, with a selector as a plain map, and exported as virtual resources', async () => {
    await virtual.replicate('cpuflavors', { visibility: 'Public' });
    await virtual.replicateByNewerNames('images');
    const byOlderName = await shared.get(cachedResourcePath('images'));
    expect([byOlderName, field(byOlderName, 'status', 'phase')]).toEqual([
      expect.objectContaining({ kind: 'CachedResource' }),
      'Ready',
    ]);
    await eventually(async () => {
      const cached = await shared.get(cachedResourcePath('cpuflavors'));
      expect(field(cached, 'status', 'resourceCounts')).toEqual({ cache: 2, local: 2 });
    }, patient);
    await virtual.offer('compute', ['cpuflavors', 'images']);
  }, 120_000);

  test.each(['near', 'far'])(
    'are read in the workspace of the consumer %s',
    async (consumer) => {
      const binding = await shared.bind(consumer, 'compute');
      for (const bound of field(binding, 'status', 'boundResources') as JsonObject[])
        expect(bound['storageVersions']).toBeUndefined();
      await eventually(async () => {
        expect(namesOf(await shared.get(objects(consumer, 'cpuflavors')))).toEqual(['large', 'small']);
      }, patient);
      const small = await shared.get(`${objects(consumer, 'cpuflavors')}/small`);
      expect(field(small, 'metadata', 'annotations')).toEqual({ 'kcp.io/cluster': shared.clusters.get(consumer) });
      expect(field(small, 'spec')).toEqual({ cpus: 1 });
      const discovery = await shared.get(`/clusters/root:${consumer}/apis/${group}/v1`);
      expect(field(discovery, 'resources')).toContainEqual(
        expect.objectContaining({ name: 'cpuflavors', verbs: ['get', 'list', 'watch'] }),
      );
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = await shared.requests.must({ path: objects(consumer, 'cpuflavors'), headers: { accept } });
      expect(table.json['kind']).toBe('Table');
      expect(table.json['rows']).toHaveLength(2);
      const yaml = await shared.requests.must({
        path: `${objects(consumer, 'cpuflavors')}/large`,
        headers: { accept: 'application/yaml' },
      });
      expect(yaml.text).toContain('cpus: 16');
      const page = await shared.get(`${objects(consumer, 'cpuflavors')}?limit=1`);
      expect(namesOf(page)).toEqual(['large']);
      const token = encodeURIComponent(field(page, 'metadata', 'continue') as string);
      expect(namesOf(await shared.get(`${objects(consumer, 'cpuflavors')}?limit=1&continue=${token}`))).toEqual([
        'small',
      ]);
      const selected = `${objects(consumer, 'cpuflavors')}?fieldSelector=metadata.name%3Dsmall`;
      expect(namesOf(await shared.get(selected))).toEqual(['small']);
    },
    120_000,
  );

  test('are read-only, and say where they come from', async () => {
    const path = objects('far', 'cpuflavors');
    const created = await shared.requests.send({ method: 'POST', path, body: flavor('own', 1) });
    expect(created.status).toBe(405);
    expect(created.json['message']).toBe(
      `create is not supported on resources of kind "cpuflavors.${group}": the resource is read-only and comes from APIExport root:provider:compute`,
    );
    expect((await shared.requests.send({ method: 'DELETE', path: `${path}/small` })).status).toBe(405);
  });

  test('obey the roles of the consumer', async () => {
    const path = objects('far', 'cpuflavors');
    const admin = shared.cluster.transport('base');
    await grantAccess(admin, 'root:far', ['user-1']);
    admin.close();
    await eventually(async () => {
      const refused = await shared.requests.send({ as: 'user-1', path });
      expect(refused.json['message']).toContain('cannot list resource "cpuflavors"');
    }, patient);
    const rbac = '/clusters/root:far/apis/rbac.authorization.k8s.io/v1';
    await shared.post(`${rbac}/clusterroles`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'flavors' },
      rules: [{ apiGroups: [group], resources: ['cpuflavors'], verbs: ['get', 'list', 'watch'] }],
    });
    await shared.post(`${rbac}/clusterrolebindings`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'flavors' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'flavors' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
    });
    await eventually(async () => {
      expect(namesOf((await shared.requests.must({ as: 'user-1', path })).json)).toEqual(['large', 'small']);
    }, patient);
  }, 60_000);

  test('change before the eyes of a consumer who watches, and leave when the selector lets them go', async () => {
    const watch = await shared.requests.watch(
      `${objects('far', 'cpuflavors')}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    const seen = (): string[] =>
      watch.events.map((event) =>
        `${String(event['type'])} ${(event['object'] as KubeObject).metadata.name ?? ''}`.trim(),
      );
    await eventually(async () => expect(seen()).toEqual(['ADDED large', 'ADDED small', 'BOOKMARK']), patient);
    await shared.patch(`${provided('cpuflavors')}/small`, { spec: { cpus: 2 } });
    await eventually(async () => expect(seen().slice(3)).toEqual(['MODIFIED small']), patient);
    await shared.patch(`${provided('cpuflavors')}/large`, { metadata: { labels: { visibility: 'Private' } } });
    await eventually(async () => expect(seen().slice(4)).toEqual(['DELETED large']), patient);
    await shared.patch(`${provided('cpuflavors')}/large`, { metadata: { labels: { visibility: 'Public' } } });
    await eventually(async () => expect(seen().slice(5)).toEqual(['ADDED large']), patient);
    watch.close();
  }, 90_000);
});

describe('images in a namespace', () => {
  test('are there where the consumer has the namespace', async () => {
    await eventually(
      async () => expect(namesOf(await shared.get(objects('far', 'images')))).toEqual(['debian']),
      patient,
    );
    const watch = await shared.requests.watch(`${objects('far', 'images')}?watch=true`);
    const seen = (): string[] =>
      watch.events.map(
        ({ type, object }) =>
          `${String(type)} ${(object as KubeObject).metadata.namespace}/${(object as KubeObject).metadata.name}`,
      );
    await shared.post('/clusters/root:provider/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'extra' },
    });
    await shared.post(provided('images', 'extra'), image('fedora'));
    await shared.post(provided('images', 'default'), image('ubuntu'));
    await eventually(async () => expect(seen()).toEqual(['ADDED default/debian', 'ADDED default/ubuntu']), patient);
    expect(namesOf(await shared.get(objects('far', 'images')))).toEqual(['debian', 'ubuntu']);
    expect((await shared.requests.send({ path: `${objects('far', 'images', 'extra')}/fedora` })).status).toBe(404);
    await shared.post('/clusters/root:far/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'extra' },
    });
    await eventually(async () => expect(seen().slice(2)).toEqual(['ADDED extra/fedora']), patient);
    expect((await shared.requests.send({ path: `${objects('far', 'images', 'extra')}/fedora` })).status).toBe(200);
    await shared.remove('/clusters/root:far/api/v1/namespaces/extra');
    await eventually(async () => expect(seen().slice(3)).toEqual(['DELETED extra/fedora']), patient);
    watch.close();
  }, 120_000);
});

describe('the provider', () => {
  test('sees the virtual resources of its consumers, one by one and all at once', async () => {
    const slice = '/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/compute';
    const base = `/services/apiexport/${shared.clusters.get('provider')}/compute/clusters`;
    const discovery = field(await shared.get(`${base}/*/apis/${group}/v1`), 'resources') as JsonObject[];
    expect(discovery.map(({ name, verbs }) => [name, verbs])).toEqual([
      ['cpuflavors', ['get', 'list', 'watch']],
      ['images', ['get', 'list', 'watch']],
    ]);
    await eventually(async () => expect(field(await shared.get(slice), 'status', 'endpoints')).toBeDefined(), patient);
    const near = shared.clusters.get('near') as string;
    const path = `${base}/${near}/apis/${group}/v1/cpuflavors`;
    await eventually(async () => expect(namesOf(await shared.get(path))).toEqual(['large', 'small']), patient);
    const all = (await shared.get(`${base}/*/apis/${group}/v1/cpuflavors`)) as unknown as { items: KubeObject[] };
    const ofNear = all.items.filter(({ metadata }) => metadata.annotations?.['kcp.io/cluster'] === near);
    expect(ofNear.map(({ metadata }) => metadata.name)).toEqual(['large', 'small']);
  }, 90_000);

  test('cannot switch a bound resource to stored objects', async () => {
    const path = '/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/compute';
    const resources = [
      { name: 'cpuflavors', group, schema: `v1.cpuflavors.${group}`, storage: { crd: {} } },
      virtual.exported('images'),
    ];
    const headers = { 'content-type': 'application/merge-patch+json' };
    const refused = await shared.requests.send({ method: 'PATCH', path, headers, body: { spec: { resources } } });
    expect(refused.status).toBe(403);
    expect(refused.json['message']).toContain('must not be switched from virtual to crd while the resource is bound');
  });

  test('answers with an error while its export is deleted, and as before when it is back', async () => {
    const watch = await shared.requests.watch(`${objects('far', 'cpuflavors')}?watch=true`);
    await eventually(async () => expect(watch.events.length).toBeGreaterThan(0), patient);
    const path = '/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/compute';
    const { spec } = (await shared.get(path)) as unknown as KubeObject;
    await shared.remove(path);
    await eventually(async () => {
      for (const consumer of ['near', 'far'])
        for (const wanted of [objects(consumer, 'cpuflavors'), `${objects(consumer, 'cpuflavors')}/small`]) {
          const { status, headers, json } = await shared.requests.send({ path: wanted });
          // Waiting does not bring the export back.
          expect([status, headers['retry-after']]).toEqual([503, undefined]);
          expect(json['message']).toContain('APIExport root:provider:compute does not exist or no longer offers it');
        }
    }, patient);
    await eventually(async () => expect([watch.ended, watch.failed]).toEqual([true, false]), patient);
    const { resources } = spec as { resources: JsonObject[] };
    await shared.offer({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'compute' },
      spec: { resources },
    });
    for (const consumer of ['near', 'far'])
      await eventually(
        async () => expect(namesOf(await shared.get(objects(consumer, 'cpuflavors')))).toEqual(['large', 'small']),
        patient,
      );
  }, 120_000);

  test('keeps its objects when a consumer leaves, and takes back what it published', async () => {
    const watch = await shared.requests.watch(`${objects('near', 'cpuflavors')}?watch=true`);
    await eventually(async () => expect(watch.events.length).toBeGreaterThan(0), patient);
    await shared.remove('/clusters/root:near/apis/apis.kcp.io/v1alpha2/apibindings/compute');
    await eventually(async () => expect([watch.ended, watch.failed]).toEqual([true, false]), patient);
    await eventually(
      async () => expect((await shared.requests.send({ path: objects('near', 'cpuflavors') })).status).toBe(404),
      patient,
    );
    expect(namesOf(await shared.get(provided('cpuflavors')))).toEqual(['large', 'secret', 'small']);
    await shared.remove(cachedResourcePath('cpuflavors'));
    await eventually(
      async () => expect((await shared.requests.send({ path: cachedResourcePath('cpuflavors') })).status).toBe(404),
      patient,
    );
    await eventually(async () => {
      const answer = await shared.requests.send({ path: objects('far', 'cpuflavors') });
      expect(answer.status).toBeGreaterThanOrEqual(500);
    }, patient);
    expect(namesOf(await shared.get(provided('cpuflavors')))).toEqual(['large', 'secret', 'small']);
  }, 120_000);
});
