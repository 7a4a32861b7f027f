import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import { optionalApis } from '../harness/local-cluster.ts';
import type { Response, SentRequest } from '../harness/requests.ts';
import { bindingsOf, SharedApis } from '../harness/shared-apis.ts';
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
  shared = await SharedApis.start({ flags: optionalApis, frontProxyFlags: optionalApis });
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

/**
 * The scenarios of kcp's penetration test kit (contrib/tilt/pentest on its main branch): a tenant that administers `near` attacks
 * its neighbour `far` and the provider whose API both consume. Each holds a flag in a Secret. The provider may read the Secrets
 * of both consumers, since they accepted its claim; a consumer may not.
 */
describe('an administrator of one workspace', () => {
  const attacker = 'user-3';
  const flags = { far: 'crown-jewels-of-far', provider: 'jewels-of-the-provider' } as const;
  const secrets = '/api/v1/namespaces/default/secrets';
  let serviceAccount: string;
  let identity: string;

  beforeAll(async () => {
    for (const [workspace, flag] of Object.entries(flags))
      await shared.post(`/clusters/root:${workspace}${secrets}`, { metadata: { name: 'flag' }, stringData: { flag } });
    await shared.addSchema(apiResourceSchema({ group: 'pentest.dev', plural: 'widgets' }));
    const claim = { group: '', resource: 'secrets', verbs: ['*'] };
    await shared.offer(apiExport('widgets', ['v1.widgets.pentest.dev'], { permissionClaims: [claim] }));
    for (const consumer of consumers) {
      await eventually(
        () =>
          shared.post(bindingsOf(consumer), {
            apiVersion: 'apis.kcp.io/v1alpha2',
            kind: 'APIBinding',
            metadata: { name: 'widgets' },
            spec: {
              reference: { export: { path: 'root:provider', name: 'widgets' } },
              permissionClaims: [{ ...claim, state: 'Accepted', selector: { matchAll: true } }],
            },
          }),
        patient,
      );
      const bound = JSON.stringify(await shared.bound(consumer, 'widgets'));
      identity = /"identityHash":"([0-9a-f]+)"/.exec(bound)?.[1] ?? '';
    }
    const everything = [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ];
    await shared.grant('near', 'attacker', everything, [{ kind: 'User', name: attacker, apiGroup }]);
    await eventually(() => as({ path: `/clusters/root:near${secrets}` }, 200), patient);
    const accounts = '/clusters/root:near/api/v1/namespaces/default/serviceaccounts';
    await as({ method: 'POST', path: accounts, body: { metadata: { name: 'robot' } } }, 201);
    const token = await as({ method: 'POST', path: `${accounts}/robot/token`, body: { spec: {} } }, 201);
    serviceAccount = (token.json['status'] as { token: string }).token;
  }, 180_000);

  /** A request of the attacker that must be answered with this status. */
  async function as(request: SentRequest, status: number): Promise<Response> {
    const response = await shared.requests.send({ as: attacker, ...request });
    expect([request.path, response.status, response.status === status ? '' : response.text]).toEqual([
      request.path,
      status,
      '',
    ]);
    return response;
  }

  const at = (path: string): string =>
    path.replaceAll(/<(\w+)>/g, (_all, name: string) => shared.clusters.get(name) ?? '');
  const provided = '/services/apiexport/<provider>/widgets/clusters';
  const paths = (): readonly string[] => [
    `/clusters/root:far${secrets}/flag`,
    `/clusters/<far>${secrets}/flag`,
    `/clusters/<far>${secrets}?watch=1&timeoutSeconds=1`,
    `/clusters/root:provider${secrets}/flag`,
    `/clusters/<provider>/api/v1/secrets`,
    '/clusters/*/api/v1/secrets',
    '/clusters/*/api/v1/secrets?watch=1&timeoutSeconds=1',
    `/clusters/*/apis/pentest.dev/v1/widgets:${identity}`,
    '/clusters/root/api/v1/secrets',
    '/clusters/system:admin/api/v1/secrets',
    `/clusters/root:near/../root:far${secrets}/flag`,
    `/clusters/root:near%2f..%2froot:far${secrets}/flag`,
    `/clusters/root:near/clusters/root:far${secrets}/flag`,
    `/clusters/root:near/api/v1/namespaces/default/../../../../../root:far${secrets}/flag`,
    `/clusters/<near>/api/v1/namespaces/default%2f..%2f..%2f<far>/secrets`,
    `${provided}/*/api/v1/secrets`,
    `${provided}/<far>/api/v1/secrets`,
    `${provided}/<far>${secrets}/flag`,
    `${provided}/<near>${secrets}`,
    '/services/apiexport/root:provider/widgets/clusters/*/api/v1/secrets',
    `${provided}/*/api/v1/secrets?watch=1&timeoutSeconds=1`,
    `${provided}/*/apis/pentest.dev/v1/widgets`,
    '/services/initializingworkspaces/root:universal/clusters/<far>/api/v1/secrets',
    '/services/terminatingworkspaces/root:universal/clusters/<far>/api/v1/secrets',
    '/services/cache/shards/*/clusters/*/apis/apis.kcp.io/v1alpha2/apiexports',
    '/services/cache/shards/root/clusters/<provider>/api/v1/secrets',
  ];
  const masters = { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' };
  const warrant = '{"user":"admin","groups":["system:masters"]}';
  const disguises: readonly (readonly [string, SentRequest['headers']])[] = [
    ['as itself', {}],
    ['as a member of system:masters', masters],
    ['as an administrator of kcp', { 'impersonate-user': 'kcp-admin', 'impersonate-group': 'system:kcp:admin' }],
    ['as the provider', { 'impersonate-user': 'user-2', 'impersonate-group': 'partners' }],
    ['with a warrant', { 'impersonate-user': attacker, 'impersonate-extra-authorization.kcp.io%2fwarrant': warrant }],
    [
      'with the scope of its victim',
      { 'impersonate-user': attacker, 'impersonate-extra-authentication.kcp.io%2fscopes': 'cluster:root:far' },
    ],
    [
      'with headers of a proxy',
      {
        'x-remote-user': 'admin',
        'x-remote-group': ['system:masters', 'system:kcp:admin'],
        'x-remote-extra-authorization.kcp.io%2fwarrant': warrant,
        'x-forwarded-host': 'localhost',
      },
    ],
    ['with nominated headers', { connection: 'x-remote-user, authorization', 'x-remote-user': 'admin', ...masters }],
    ['with another method', { 'x-http-method-override': 'GET', 'x-original-url': `/clusters/root:far${secrets}` }],
  ];

  test('attacks what the provider may read by the claim', async () => {
    await shared.grant(
      'provider',
      'content',
      [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] }],
      [{ kind: 'User', name: 'user-1', apiGroup }],
    );
    const admin = shared.cluster.transport('base');
    await grantAccess(admin, 'root:provider', ['user-1']);
    admin.close();
    await eventually(async () => {
      const { text } = await shared.requests.must({ as: 'user-1', path: at(`${provided}/<far>${secrets}/flag`) });
      expect(text).toContain(Buffer.from(flags.far).toString('base64'));
    }, patient);
    await shared.requests.must({ as: 'user-1', path: at(`${provided}/*/api/v1/secrets`) });
  });

  test.each(disguises)('reads no flag %s, by no path', async (_what, headers) => {
    for (const who of [attacker, serviceAccount])
      for (const path of paths().map(at)) {
        const { status, text } = await shared.requests.send({ as: who, path, headers });
        expect([path, status >= 400 && status < 500]).toEqual([path, true]);
        for (const flag of Object.values(flags)) {
          expect(text).not.toContain(flag);
          expect(text).not.toContain(Buffer.from(flag).toString('base64'));
        }
      }
  });

  test('does not become the provider by rights and exports of its own', async () => {
    await shared.grant(
      'near',
      'content',
      [{ apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], verbs: ['*'] }],
      [{ kind: 'User', name: attacker, apiGroup }],
    );
    const claim = { group: 'pentest.dev', resource: 'widgets', identityHash: identity, verbs: ['*'] };
    const secretClaim = { group: '', resource: 'secrets', verbs: ['*'] };
    const body = apiExport('widgets', [], { permissionClaims: [claim, secretClaim] });
    const exports = '/clusters/root:near/apis/apis.kcp.io/v1alpha2/apiexports';
    await as({ method: 'POST', path: exports, body }, 201);
    // Its export claims from consumers that bind it, and that none does; what it is allowed is empty, not the neighbour's.
    await eventually(async () => {
      const own = at('/services/apiexport/<near>/widgets/clusters/*/api/v1/secrets');
      const { json, text } = await as({ path: own }, 200);
      expect(json['items']).toEqual([]);
      expect(text).not.toContain('flag');
    }, patient);
    for (const path of [`${provided}/*/api/v1/secrets`, `${provided}/<far>${secrets}/flag`].map(at))
      await as({ path }, 403);
    const binding = {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'evil' },
      spec: { reference: { export: { path: 'root:near', name: 'widgets' } } },
    };
    await as({ method: 'POST', path: bindingsOf('far'), body: binding }, 403);
  });

  describe('that mounts workspaces', () => {
    let listener: Server;
    let connections = 0;
    beforeAll(async () => {
      listener = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((resolve) => listener.listen(0, resolve));
      await shared.post('/clusters/root:near/apis/apiextensions.k8s.io/v1/customresourcedefinitions', gateDefinition);
    });
    afterAll(() => void listener?.close());

    /** A workspace below `near` that is mounted from this URL. */
    async function mount(name: string, URL: string): Promise<void> {
      const ref = { apiVersion: 'e2e.example.com/v1', kind: 'Gate', name };
      await eventually(
        () =>
          as(
            {
              method: 'POST',
              path: '/clusters/root:near/apis/e2e.example.com/v1/gates',
              body: { apiVersion: ref.apiVersion, kind: ref.kind, metadata: { name }, status: { phase: 'Ready', URL } },
            },
            201,
          ),
        patient,
      );
      const workspaces = '/clusters/root:near/apis/tenancy.kcp.io/v1alpha1/workspaces';
      const body = {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name },
        spec: { mount: { ref } },
      };
      await as({ method: 'POST', path: workspaces, body }, 201);
      await eventually(async () => {
        const { json } = await as({ path: `${workspaces}/${name}` }, 200);
        expect(json['status']).toMatchObject({ phase: 'Ready' });
      }, patient);
    }

    test('reaches no address of the network of the server, and cannot tell which ones exist', async () => {
      const { port } = listener.address() as AddressInfo;
      const { url } = shared.cluster;
      const targets = {
        loopback: `https://127.0.0.1:${port}/clusters/x`,
        named: `https://localhost:${port}/clusters/x`,
        ipv6: `https://[::1]:${port}/clusters/x`,
        mapped: `https://[::ffff:127.0.0.1]:${port}/clusters/x`,
        decimal: `https://2130706433:${port}/clusters/x`,
        closed: 'https://127.0.0.1:1/clusters/x',
        private: 'https://10.0.0.1/clusters/x',
        metadata: 'https://169.254.169.254/latest',
        cache: `${url}/services/cache`,
        metrics: `${url}/metrics`,
        everything: `${url}/clusters/*`,
      };
      await Promise.all(Object.entries(targets).map(([name, target]) => mount(name, target)));
      for (const name of Object.keys(targets))
        await eventually(async () => {
          // A visitor with all rights, whose token would be worth having.
          const { status, json } = await shared.requests.send({ path: `/clusters/root:near:${name}/api/v1/secrets` });
          expect([name, status, json['message']]).toEqual([
            name,
            503,
            'the target of the workspace mount cannot be reached',
          ]);
        }, patient);
      expect(connections).toBe(0);
    }, 120_000);

    test('does not enter its neighbour through one', async () => {
      await mount('door', `${shared.cluster.url}/clusters/${shared.clusters.get('far') ?? ''}`);
      const path = `/clusters/root:near:door${secrets}/flag`;
      // A user with rights in the target enters with them: an administrator of the installation.
      const admin = shared.cluster.transport('base');
      await eventually(() => admin.json({ method: 'GET', path }), patient);
      admin.close();
      for (const [what, headers] of disguises) {
        const { status, text } = await shared.requests.send({ as: attacker, path, headers });
        expect([what, status >= 400 && status < 500]).toEqual([what, true]);
        expect(text).not.toContain(Buffer.from(flags.far).toString('base64'));
      }
    }, 120_000);
  });
});

/** Mounts read URL and phase from objects of any kind. */
const gateDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gates.e2e.example.com' },
  spec: {
    group: 'e2e.example.com',
    scope: 'Cluster',
    names: { plural: 'gates', singular: 'gate', kind: 'Gate', listKind: 'GateList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
