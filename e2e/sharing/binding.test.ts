import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually, exportedResource } from '@multiplane/testing';
import { topologyName } from '../harness/start-control-plane.ts';
import { bindingsOf, exportPath, SharedApis } from '../harness/shared-apis.ts';
import { field } from '../harness/workspaces.ts';

const apis = 'apis/apis.kcp.io';
const isSharded = topologyName === 'sharded';
const patient = { timeout: 30_000 };

let shared: SharedApis;

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  for (const schema of schemas) await shared.addSchema(apiResourceSchema(schema));
  await shared.offer(apiExport('wildwest', ['v1.cowboys.wildwest.dev', 'v1.sheriffs.wildwest.dev']));
}, 180_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const group = 'wildwest.dev';
const intent: JsonObject = { type: 'string' };
const schemas = [
  { group, plural: 'cowboys', spec: { type: 'object', properties: { intent } } },
  { group, plural: 'cowboys', prefix: 'v2', spec: { type: 'object', properties: { intent, hat: { type: 'string' } } } },
  { group, plural: 'sheriffs', spec: { type: 'object', properties: { intent } } },
];
const wildwest = exportPath('wildwest');
const bindingPath = (consumer: string, name = 'wildwest'): string => `${bindingsOf(consumer)}/${name}`;
const objects = (consumer: string, resource: string, name = ''): string =>
  `/clusters/root:${consumer}/apis/wildwest.dev/v1/namespaces/default/${resource}${name === '' ? '' : `/${name}`}`;

const gone = (path: string): Promise<void> =>
  eventually(async () => expect((await shared.requests.send({ path })).status).toBe(404), patient);

const boundIn = (binding: Json): unknown =>
  (field(binding, 'status', 'boundResources') as { resource: string }[] | undefined)?.map(({ resource }) => resource);
const endpoints = async (): Promise<Json[]> => {
  const slice = await shared.get(`/clusters/root:provider/${apis}/v1alpha1/apiexportendpointslices/wildwest`);
  return (field(slice, 'status', 'endpoints') ?? []) as Json[];
};

describe('an API of one workspace, bound in others', () => {
  test('is served where it is bound, and reached where its objects are', async () => {
    const binding = await shared.bind('far', 'wildwest');
    expect(boundIn(binding)).toEqual(['cowboys', 'sheriffs']);
    // Who provides the API sees the binding from that moment on.
    const labels = Object.keys(field(binding, 'metadata', 'labels') ?? {});
    expect(labels.filter((key) => key.startsWith('claimed.internal.apis.kcp.io/'))).toHaveLength(1);
    await shared.post(objects('far', 'cowboys'), {
      apiVersion: 'wildwest.dev/v1',
      kind: 'Cowboy',
      metadata: { name: 'billy' },
      spec: { intent: 'rob' },
    });
    await eventually(async () => expect(await endpoints()).toHaveLength(1), patient);
    const [{ url }] = (await endpoints()) as [{ url: string }];
    expect(url).toMatch(new RegExp(`^https://.*/services/apiexport/${shared.clusters.get('provider')}/wildwest$`));
    await shared.bind('near', 'wildwest');
    await eventually(async () => expect(await endpoints()).toHaveLength(isSharded ? 2 : 1), patient);
    expect((await shared.requests.send({ path: objects('near', 'cowboys', 'billy') })).status).toBe(404);
  }, 240_000);

  test('follows its schema', async () => {
    await shared.patch(wildwest, {
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
        expect(field(await shared.post(path, cowboy), 'spec', 'hat')).toBe('black');
      }, patient);
    }
    expect(field(await shared.get(objects('far', 'cowboys', 'billy')), 'spec', 'intent')).toBe('rob');
  }, 240_000);

  test('lets go of what is no longer exported, but not of objects', async () => {
    const sheriff = { apiVersion: 'wildwest.dev/v1', kind: 'Sheriff', metadata: { name: 'pat' } };
    await shared.post(objects('far', 'sheriffs'), sheriff);
    await shared.patch(wildwest, { spec: { resources: [exportedResource('v2.cowboys.wildwest.dev')] } });
    await eventually(async () => expect(boundIn(await shared.get(bindingPath('near')))).toEqual(['cowboys']), patient);
    await gone(objects('near', 'sheriffs'));
    expect(boundIn(await shared.get(bindingPath('far')))).toEqual(['cowboys', 'sheriffs']);
    await shared.remove(objects('far', 'sheriffs', 'pat'));
    await eventually(async () => expect(boundIn(await shared.get(bindingPath('far')))).toEqual(['cowboys']), patient);
    await gone(objects('far', 'sheriffs'));
  }, 240_000);

  test('stays usable when its export is deleted, and goes with its binding', async () => {
    await shared.remove(wildwest);
    await eventually(async () => {
      const conditions = field(await shared.get(bindingPath('far')), 'status', 'conditions') as {
        type: string;
        status: string;
      }[];
      expect(Object.fromEntries(conditions.map(({ type, status }) => [type, status]))).toMatchObject({
        Ready: 'True',
        APIExportValid: 'False',
      });
    }, patient);
    expect(field(await shared.get(objects('far', 'cowboys', 'billy')), 'metadata', 'name')).toBe('billy');
    await shared.remove(bindingPath('far'));
    await gone(bindingPath('far'));
    await gone(objects('far', 'cowboys'));
    const locks = field(
      await eventually(async () => {
        const object = await shared.get('/clusters/root:far/apis/core.kcp.io/v1alpha1/logicalclusters/cluster');
        const text = field(object, 'metadata', 'annotations', 'internal.apis.kcp.io/resource-bindings') as string;
        expect(text).not.toContain('wildwest.dev');
        return JSON.parse(text) as Json;
      }, patient),
    );
    expect(locks).toMatchObject({ 'workspaces.tenancy.kcp.io': { n: expect.any(String) } });
  }, 240_000);
});
