import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually, exportedResource } from '@multiplane/testing';
import { startControlPlane, topologyName, type ControlPlane } from '../harness/control-plane.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const apis = 'apis/apis.kcp.io';
const isSharded = topologyName === 'sharded';
/** Where the API is offered, and where it is used. */
const [here, there] = isSharded ? (['root', 'shard-1'] as const) : (['root', 'root'] as const);
const patient = { timeout: 30_000 };

let cluster: ControlPlane;
let requests: Requests;
const clusters: Record<string, string> = {};

beforeAll(async () => {
  cluster = await startControlPlane();
  requests = new Requests(cluster);
  const admin = cluster.transport('base');
  await createWorkspace(admin, 'root', 'provider', { shard: here });
  await createWorkspace(admin, 'root', 'near', { shard: here });
  await createWorkspace(admin, 'root', 'far', { shard: there });
  admin.close();
  for (const name of ['provider', 'near', 'far'])
    clusters[name] = field(
      await get(`/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`),
      'spec',
      'cluster',
    ) as string;
  for (const schema of schemas)
    await post(`/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`, apiResourceSchema(schema));
  await post(
    `/clusters/root:provider/${apis}/v1alpha2/apiexports`,
    apiExport('wildwest', ['v1.cowboys.wildwest.dev', 'v1.sheriffs.wildwest.dev']),
  );
}, 180_000);

afterAll(async () => {
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

const group = 'wildwest.dev';
const intent: JsonObject = { type: 'string' };
const schemas = [
  { group, plural: 'cowboys', spec: { type: 'object', properties: { intent } } },
  { group, plural: 'cowboys', prefix: 'v2', spec: { type: 'object', properties: { intent, hat: { type: 'string' } } } },
  { group, plural: 'sheriffs', spec: { type: 'object', properties: { intent } } },
];
const exportPath = `/clusters/root:provider/${apis}/v1alpha2/apiexports/wildwest`;
const bindingPath = (consumer: string, name = 'wildwest'): string =>
  `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings/${name}`;
const objects = (consumer: string, resource: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/wildwest.dev/v1/namespaces/default/${resource}${name === '' ? '' : `/${name}`}`;

async function get(path: string): Promise<Json> {
  return (await requests.must({ path })).json as Json;
}
async function post(path: string, body: object): Promise<Json> {
  return (await requests.must({ method: 'POST', path, body })).json as Json;
}
async function patch(path: string, body: object): Promise<Json> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  return (await requests.must({ method: 'PATCH', path, headers, body })).json as Json;
}
const remove = (path: string) => requests.must({ method: 'DELETE', path });
const gone = (path: string): Promise<void> =>
  eventually(async () => expect((await requests.send({ path })).status).toBe(404), patient);

/** Binds the export, and returns the binding when it is Bound. */
async function bind(consumer: string, name = 'wildwest'): Promise<Json> {
  await eventually(
    () =>
      post(`/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name },
        spec: { reference: { export: { path: 'root:provider', name } } },
      }),
    // What was exported a moment ago is known on other shards a moment later.
    patient,
  );
  return eventually(async () => {
    const binding = await get(bindingPath(consumer, name));
    expect(field(binding, 'status', 'phase')).toBe('Bound');
    return binding;
  }, patient);
}
const boundIn = (binding: Json): unknown =>
  (field(binding, 'status', 'boundResources') as { resource: string }[] | undefined)?.map(({ resource }) => resource);
const endpoints = async (): Promise<Json[]> => {
  const slice = await get(`/clusters/root:provider/${apis}/v1alpha1/apiexportendpointslices/wildwest`);
  return (field(slice, 'status', 'endpoints') ?? []) as Json[];
};

describe('an API of one workspace, bound in others', () => {
  test('is served where it is bound, and reached where its objects are', async () => {
    const binding = await bind('far');
    expect(boundIn(binding)).toEqual(['cowboys', 'sheriffs']);
    // Who provides the API sees the binding from that moment on.
    const labels = Object.keys(field(binding, 'metadata', 'labels') ?? {});
    expect(labels.filter((key) => key.startsWith('claimed.internal.apis.kcp.io/'))).toHaveLength(1);
    await post(objects('far', 'cowboys'), {
      apiVersion: 'wildwest.dev/v1',
      kind: 'Cowboy',
      metadata: { name: 'billy' },
      spec: { intent: 'rob' },
    });
    await eventually(async () => expect(await endpoints()).toHaveLength(1), patient);
    const [{ url }] = (await endpoints()) as [{ url: string }];
    expect(url).toMatch(new RegExp(`^https://.*/services/apiexport/${clusters['provider']}/wildwest$`));
    await bind('near');
    await eventually(async () => expect(await endpoints()).toHaveLength(isSharded ? 2 : 1), patient);
    expect((await requests.send({ path: objects('near', 'cowboys', 'billy') })).status).toBe(404);
  }, 240_000);

  test('follows its schema', async () => {
    await patch(exportPath, {
      spec: { resources: ['v2.cowboys.wildwest.dev', 'v1.sheriffs.wildwest.dev'].map(exportedResource) },
    });
    for (const consumer of ['near', 'far']) {
      await eventually(async () => {
        const cowboy = {
          apiVersion: 'wildwest.dev/v1',
          kind: 'Cowboy',
          metadata: { name: 'jesse' },
          spec: { hat: 'black' },
        };
        const path = `${objects(consumer, 'cowboys')}?dryRun=All`;
        expect(field(await post(path, cowboy), 'spec', 'hat')).toBe('black');
      }, patient);
    }
    expect(field(await get(objects('far', 'cowboys', 'billy')), 'spec', 'intent')).toBe('rob');
  }, 240_000);

  test('lets go of what is no longer exported, but not of objects', async () => {
    const sheriff = { apiVersion: 'wildwest.dev/v1', kind: 'Sheriff', metadata: { name: 'pat' } };
    await post(objects('far', 'sheriffs'), sheriff);
    await patch(exportPath, { spec: { resources: [exportedResource('v2.cowboys.wildwest.dev')] } });
    await eventually(async () => expect(boundIn(await get(bindingPath('near')))).toEqual(['cowboys']), patient);
    await gone(objects('near', 'sheriffs'));
    expect(boundIn(await get(bindingPath('far')))).toEqual(['cowboys', 'sheriffs']);
    await remove(objects('far', 'sheriffs', 'pat'));
    await eventually(async () => expect(boundIn(await get(bindingPath('far')))).toEqual(['cowboys']), patient);
    await gone(objects('far', 'sheriffs'));
  }, 240_000);

  test('stays usable when its export is deleted, and goes with its binding', async () => {
    await remove(exportPath);
    await eventually(async () => {
      const conditions = field(await get(bindingPath('far')), 'status', 'conditions') as {
        type: string;
        status: string;
      }[];
      expect(Object.fromEntries(conditions.map(({ type, status }) => [type, status]))).toMatchObject({
        Ready: 'True',
        APIExportValid: 'False',
      });
    }, patient);
    expect(field(await get(objects('far', 'cowboys', 'billy')), 'metadata', 'name')).toBe('billy');
    await remove(bindingPath('far'));
    await gone(bindingPath('far'));
    await gone(objects('far', 'cowboys'));
    const locks = field(
      await eventually(async () => {
        const object = await get('/clusters/root:far/apis/core.kcp.io/v1alpha1/logicalclusters/cluster');
        const text = field(object, 'metadata', 'annotations', 'internal.apis.kcp.io/resource-bindings') as string;
        expect(text).not.toContain('wildwest.dev');
        return JSON.parse(text) as Json;
      }, patient),
    );
    expect(locks).toMatchObject({ 'workspaces.tenancy.kcp.io': { n: expect.any(String) } });
  }, 240_000);
});
