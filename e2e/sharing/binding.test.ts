import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually, exportedResource } from '@multiplane/testing';
import { topologyName } from '../harness/start-control-plane.ts';
import type { Response } from '../harness/requests.ts';
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

  test('goes over to another export of the same identity and schema, with its objects', async () => {
    const { metadata } = (await shared.post(objects('near', 'cowboys'), {
      apiVersion: 'wildwest.dev/v1',
      kind: 'Cowboy',
      metadata: { name: 'luke' },
    })) as { metadata: { uid: string } };
    const { spec, ...successor } = apiExport('successor', ['v2.cowboys.wildwest.dev']);
    const identity = { secretRef: { namespace: 'kcp-system', name: 'wildwest' } };
    await shared.offer({ ...successor, spec: { ...(spec as JsonObject), identity } });
    await shared.createBinding('near', 'successor');
    await eventually(async () => {
      const conditions = field(await shared.get(bindingPath('near', 'successor')), 'status', 'conditions');
      expect(conditions).toContainEqual(expect.objectContaining({ status: 'False', reason: 'NamingConflicts' }));
    }, patient);
    await shared.remove(bindingPath('near'));
    await gone(bindingPath('near'));
    await shared.bound('near', 'successor');
    await eventually(async () => {
      expect(field(await shared.get(objects('near', 'cowboys', 'luke')), 'metadata', 'uid')).toBe(metadata.uid);
    }, patient);
  }, 240_000);

  test('lets its provider authenticate and authorize callers in the workspaces that agree', async () => {
    const claims = ['authentication.k8s.io/tokenreviews', 'authorization.k8s.io/subjectaccessreviews'].map((name) => {
      const [group = '', resource = ''] = name.split('/');
      return { group, resource, verbs: ['create'] };
    });
    await shared.offer({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'delegator' },
      spec: { permissionClaims: claims },
    });
    // A provider without other rights.
    await shared.grant(
      'provider',
      'delegates',
      [
        { nonResourceURLs: ['/'], verbs: ['access'] },
        { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: ['delegator'], verbs: ['*'] },
      ],
      [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'user-1' }],
    );
    const reviewed = async (consumer: string, kind: string, group: string, spec: object): Promise<Response> => {
      const [provider, cluster] = [shared.clusters.get('provider'), shared.clusters.get(consumer)];
      const path = `/services/apiexport/${provider}/delegator/clusters/${cluster}/apis/${group}/v1/${kind.toLowerCase()}s`;
      return shared.requests.send({
        as: 'user-1',
        method: 'POST',
        path,
        body: { apiVersion: `${group}/v1`, kind, spec },
      });
    };
    const accepted = claims.map((claim) => ({ ...claim, selector: { matchAll: true }, state: 'Accepted' }));
    for (const [consumer, permissionClaims] of [
      ['near', []],
      ['far', accepted],
    ] as const) {
      await shared.createBinding(consumer, 'delegator');
      await shared.patch(bindingPath(consumer, 'delegator'), { spec: { permissionClaims } });
      await shared.bound(consumer, 'delegator');
    }
    const account = '/clusters/root:far/api/v1/namespaces/default/serviceaccounts/default';
    await eventually(() => shared.get(account), patient);
    const token = field(
      await shared.post(`${account}/token`, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
      'status',
      'token',
    );
    const user = 'system:serviceaccount:default:default';
    await eventually(async () => {
      const { status, json } = await reviewed('far', 'TokenReview', 'authentication.k8s.io', { token });
      expect([status, field(json as Json, 'status', 'authenticated')]).toEqual([201, true]);
      expect(field(json as Json, 'status', 'user', 'username')).toBe(user);
      expect(field(json as Json, 'status', 'user', 'extra', 'authentication.kcp.io/cluster-name')).toEqual([
        shared.clusters.get('far'),
      ]);
    }, patient);
    const resourceAttributes = { verb: 'list', resource: 'configmaps', namespace: 'default' };
    const review = { user, groups: ['system:authenticated'], resourceAttributes };
    const answer = await reviewed('far', 'SubjectAccessReview', 'authorization.k8s.io', review);
    expect([answer.status, field(answer.json as Json, 'status', 'allowed')]).toEqual([201, false]);
    for (const [kind, group, spec] of [
      ['TokenReview', 'authentication.k8s.io', { token }],
      ['SubjectAccessReview', 'authorization.k8s.io', review],
    ] as const)
      expect((await reviewed('near', kind, group, spec)).status).toBe(403);
  }, 240_000);

  test('stays usable when its export is deleted, and goes with its binding', async () => {
    const extra = 'extra.apis.kcp.io/contact';
    const contact = async (): Promise<unknown> =>
      field(await shared.get(bindingPath('far')), 'metadata', 'annotations', extra);
    await shared.patch(wildwest, { metadata: { annotations: { [extra]: 'sheriff' } } });
    await eventually(async () => expect(await contact()).toBe('sheriff'), patient);
    await shared.remove(wildwest);
    await eventually(async () => expect(await contact()).toBeUndefined(), patient);
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
