import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, TestIssuer } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { optionalApis } from '../harness/local-cluster.ts';
import { Requests } from '../harness/requests.ts';
import { webhooksHere } from '../harness/webhook-server.ts';
import { field } from '../harness/workspaces.ts';

const tenancy = '/clusters/root/apis/tenancy.kcp.io/v1alpha1';
const patient = { timeout: 30_000 };
const audience = 'https://kcp.default.svc';
/** The type lives on the root shard; here its workspace does not. */
const shard = topologyName === 'sharded' ? 'shard-1' : 'root';

let issuer: TestIssuer;
let cluster: ControlPlane;
let requests: Requests;
beforeAll(async () => {
  issuer = await TestIssuer.start();
  cluster = await startControlPlane({
    flags: [...optionalApis, ...webhooksHere],
  });
  requests = new Requests(cluster);
}, 180_000);
afterAll(async () => {
  for (const left of ['workspaces/theirs', 'workspacetypes/federated', 'workspaceauthenticationconfigurations/company'])
    await requests?.send({ as: cluster.adminToken, method: 'DELETE', path: `${tenancy}/${left}` });
  requests?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await issuer?.stop();
});

const create = (path: string, body: object): Promise<unknown> =>
  eventually(() => requests.must({ as: cluster.adminToken, method: 'POST', path, body }), patient);

test('users of an issuer that the type names come into its workspaces, wherever they are, and nowhere else', async () => {
  await create(`${tenancy}/workspaceauthenticationconfigurations`, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceAuthenticationConfiguration',
    metadata: { name: 'company' },
    spec: {
      jwt: [
        {
          issuer: {
            url: issuer.url,
            certificateAuthority: issuer.ca,
            audiences: ['a', audience],
            audienceMatchPolicy: 'MatchAny',
          },
          claimMappings: { username: { expression: '"company:" + claims.sub' } },
        },
      ],
    },
  });
  await create(`${tenancy}/workspacetypes`, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'WorkspaceType',
    metadata: { name: 'federated' },
    spec: { authenticationConfigurations: [{ name: 'company' }] },
  });
  await create(`${tenancy}/workspaces`, {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'theirs' },
    spec: { type: { name: 'federated', path: 'root' }, location: { selector: { matchLabels: { name: shard } } } },
  });
  await eventually(async () => {
    const { json } = await requests.must({ as: cluster.adminToken, path: `${tenancy}/workspaces/theirs` });
    expect(field(json as never, 'status', 'phase')).toBe('Ready');
  }, patient);
  await create('/clusters/root:theirs/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'ann' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'company:ann' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  });

  const token = issuer.token({ sub: 'ann', aud: audience });
  const status = async (path: string, as = token): Promise<number> => (await requests.send({ as, path })).status;
  await eventually(async () => expect(await status('/clusters/root:theirs/api/v1/configmaps')).toBe(200), patient);
  expect(await status('/clusters/root/api/v1/configmaps')).toBe(401);
  const forger = await TestIssuer.start();
  try {
    const forged = forger.token({ iss: issuer.url, sub: 'ann', aud: audience });
    expect(await status('/clusters/root:theirs/api/v1/configmaps', forged)).toBe(401);
  } finally {
    await forger.stop();
  }
}, 120_000);

test('a token whose expressions cost too much is refused: an issuer of a tenant does not take the time of others', async () => {
  const many = Array.from({ length: 60 }, (_, n) => n);
  const costly = issuer.token({ sub: 'ann', aud: audience, many });
  const path = '/clusters/root:theirs/api/v1/configmaps';
  const status = async (as: string): Promise<number> => (await requests.send({ as, path })).status;
  expect(await status(costly)).toBe(200);
  const configurations = `${tenancy}/workspaceauthenticationconfigurations/company`;
  const { json } = await requests.must({ as: cluster.adminToken, path: configurations });
  const [jwt] = (field(json as never, 'spec', 'jwt') ?? []) as readonly object[];
  // Below the limit that Kubernetes has for one expression.
  const expression = '!has(claims.many) || claims.many.all(a, claims.many.all(b, claims.many.all(c, true)))';
  await requests.must({
    as: cluster.adminToken,
    method: 'PATCH',
    path: configurations,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { jwt: [{ ...jwt, claimValidationRules: [{ expression, message: 'm' }] }] } },
  });
  await eventually(async () => expect(await status(costly)).toBe(401), patient);
  expect(await status(issuer.token({ sub: 'ann', aud: audience }))).toBe(200);
}, 60_000);
