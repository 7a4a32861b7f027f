import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { SharedApis } from '../harness/shared-apis.ts';
import { grantAccess } from '../harness/workspaces.ts';

/**
 * A provider trusts `user-2` and the group `partners`, and lets everyone read. The administrator of a consumer's workspace has
 * every right there, so also that to impersonate whom the provider trusts.
 */
const patient = { timeout: 30_000 };
const apiGroup = 'rbac.authorization.k8s.io';
const consumers = ['near', 'far'];
let shared: SharedApis;

beforeAll(async () => {
  shared = await SharedApis.start();
  await shared.nearAndFar();
  await shared.addSchema(apiResourceSchema({ group: 'wildwest.dev', plural: 'banks', scope: 'Cluster' }));
  await shared.offer(apiExport('banks', ['v1.banks.wildwest.dev'], { maximalPermissionPolicy: { local: {} } }));
  await grant(
    'provider',
    'trusted',
    ['*'],
    [
      { kind: 'User', name: 'apis.kcp.io:binding:user-2', apiGroup },
      { kind: 'Group', name: 'apis.kcp.io:binding:partners', apiGroup },
    ],
  );
  await grant(
    'provider',
    'readers',
    ['list'],
    [{ kind: 'Group', name: 'apis.kcp.io:binding:system:authenticated', apiGroup }],
  );
  const admin = shared.cluster.transport('base');
  for (const consumer of consumers) {
    await shared.bind(consumer, 'banks');
    await grantAccess(admin, `root:${consumer}`, ['user-1', 'user-2']);
    const subjects = ['user-1', 'user-2'].map((name) => ({ kind: 'User', name, apiGroup }));
    await grant(consumer, 'administrators', ['*'], subjects, '*');
  }
  admin.close();
}, 240_000);

afterAll(() => shared?.[Symbol.asyncDispose]());

async function grant(
  workspace: string,
  name: string,
  verbs: readonly string[],
  subjects: readonly object[],
  group = 'wildwest.dev',
): Promise<void> {
  await shared.grant(workspace, name, [{ apiGroups: [group], resources: ['*'], verbs }], subjects);
}

/** The statuses of a list and of a create. */
async function tried(
  consumer: string,
  as: string,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<number[]> {
  const path = `/clusters/root:${consumer}/apis/wildwest.dev/v1/banks`;
  const list = await shared.requests.send({ as, path, headers });
  const body = { apiVersion: 'wildwest.dev/v1', kind: 'Bank', metadata: { name: 'a' } };
  const create = await shared.requests.send({ as, method: 'POST', path: `${path}?dryRun=All`, headers, body });
  return [list.status, create.status];
}

test.each(consumers)(
  'the administrator of a workspace (%s) is not whom it impersonates, to the provider',
  async (consumer) => {
    await eventually(async () => expect(await tried(consumer, 'user-2')).toEqual([200, 201]), patient);
    expect(await tried(consumer, 'user-1')).toEqual([200, 403]);
    for (const headers of [
      { 'impersonate-user': 'user-2' },
      { 'impersonate-user': 'user-1', 'impersonate-group': ['partners', 'system:authenticated'] },
      { 'impersonate-user': 'user-2', 'impersonate-extra-authentication.kcp.io%2fscopes': 'cluster:root' },
    ] as const)
      expect([headers, await tried(consumer, 'user-1', headers)]).toEqual([headers, expect.arrayContaining([403])]);
    // Impersonated users are authenticated ones.
    expect(await tried(consumer, 'user-1', { 'impersonate-user': 'user-2' })).toEqual([200, 403]);
  },
);
