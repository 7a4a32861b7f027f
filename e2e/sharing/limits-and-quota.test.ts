import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { SharedApis } from '../harness/shared-apis.ts';
import type { Response } from '../harness/requests.ts';
import { field } from '../harness/workspaces.ts';

const patient = { timeout: 60_000 };
const group = 'wildwest.dev';
const far = '/clusters/root:far';
const quotas = `${far}/api/v1/namespaces/admin/resourcequotas`;
const cowboys = (space = 'default'): string => `${far}/apis/${group}/v1/namespaces/${space}/cowboys`;
const cowboy = (name: string): object => ({ apiVersion: `${group}/v1`, kind: 'Cowboy', metadata: { name } });

let shared: SharedApis;
beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  await shared.addSchema(
    apiResourceSchema({
      group,
      plural: 'cowboys',
      spec: { type: 'object', properties: { intent: { type: 'string' } } },
    }),
  );
  await shared.offer(apiExport('wildwest', [`v1.cowboys.${group}`]));
  await shared.bind('far', 'wildwest');
}, 180_000);
afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

const send = (method: string, path: string, body?: object): Promise<Response> =>
  shared.requests.send({ method, path, ...(body === undefined ? {} : { body }) });
const workspaces = `${far}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
const message = ({ json }: Response): string => String(json['message']);
const used = async (): Promise<Json | undefined> => field(await shared.get(`${quotas}/all`), 'status', 'used');

describe('a ResourceQuota of the whole workspace', () => {
  test('counts objects of all namespaces, of bound APIs and of cluster-scoped kinds, workspaces included', async () => {
    for (const name of ['admin', 'other']) await shared.post(`${far}/api/v1/namespaces`, { metadata: { name } });
    await shared.post(cowboys(), cowboy('billy'));
    await shared.post(workspaces, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'one' },
    });
    await shared.post(quotas, {
      metadata: { name: 'all', annotations: { 'experimental.quota.kcp.io/cluster-scoped': 'true' } },
      spec: {
        hard: {
          [`count/cowboys.${group}`]: '2',
          'count/workspaces.tenancy.kcp.io': '2',
          'count/namespaces': '20',
          'count/secrets': '5',
        },
      },
    });
    await eventually(
      async () =>
        expect(await used()).toMatchObject({ [`count/cowboys.${group}`]: '1', 'count/workspaces.tenancy.kcp.io': '1' }),
      patient,
    );
  }, 90_000);

  test('refuses what exceeds it wherever it is created, and counts deletes', async () => {
    await shared.post(cowboys('other'), cowboy('jesse'));
    const refused = await send('POST', cowboys(), cowboy('doc'));
    expect(refused.status).toBe(403);
    expect(message(refused)).toBe(
      `cowboys.${group} "doc" is forbidden: exceeded quota: all, requested: count/cowboys.${group}=1, used: count/cowboys.${group}=2, limited: count/cowboys.${group}=2`,
    );
    const workspace = (name: string): object => ({
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
    });
    await shared.post(workspaces, workspace('two'));
    const third = await send('POST', workspaces, workspace('three'));
    expect(third.status).toBe(403);
    expect(message(third)).toContain('exceeded quota: all, requested: count/workspaces.tenancy.kcp.io=1');
    await shared.remove(`${cowboys('other')}/jesse`);
    await eventually(async () => expect((await send('POST', cowboys(), cowboy('doc'))).status).toBe(201), patient);
  }, 90_000);

  test('without the annotation counts its namespace alone', async () => {
    await shared.post(quotas, { metadata: { name: 'own' }, spec: { hard: { [`count/cowboys.${group}`]: '1' } } });
    await eventually(async () => {
      const own = await shared.get(`${quotas}/own`);
      expect(field(own, 'status', 'used')).toEqual({ [`count/cowboys.${group}`]: '0' });
    }, patient);
    await shared.patch(`${quotas}/all`, {
      metadata: { annotations: { 'experimental.quota.kcp.io/cluster-scoped': null } },
    });
    await eventually(async () => expect(await used()).toMatchObject({ [`count/cowboys.${group}`]: '0' }), patient);
    await eventually(async () => expect((await send('POST', cowboys(), cowboy('wyatt'))).status).toBe(201), patient);
  }, 90_000);
});

test('the limit of a consumer holds for what the provider creates there in bulk', async () => {
  const endpoint = await eventually(async () => {
    const slice = await shared.get(
      '/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/wildwest',
    );
    const [found] = (field(slice, 'status', 'endpoints') ?? []) as { url: string }[];
    if (found === undefined) throw new Error('no endpoint yet');
    return new URL(found.url).pathname;
  }, patient);
  const cluster = shared.clusters.get('far') as string;
  const inConsumer = `${endpoint}/clusters/${cluster}/apis/${group}/v1/namespaces/default/cowboys`;
  await shared.patch('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/far', {
    metadata: { annotations: { 'core.kcp.io/max-total-objects': '1' } },
  });
  await eventually(async () => {
    const refused = await send('POST', inConsumer, cowboy('bulk'));
    expect(message(refused)).toContain('workspace "root:far" has reached its total object count limit');
    expect(refused.status).toBe(403);
  }, patient);
}, 90_000);
