import type { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { createWorkspace } from '../harness/workspaces.ts';

const rbac = 'rbac.authorization.k8s.io';
const image = '<img src=x onerror=alert(1)>';
const script = '<script>globalThis.hacked = true; alert(2)</script>';
const link = 'javascript:alert(3)';

/**
 * Workspaces as a reader of the documentation has them: `maker` offers databases, `shop` uses them, `lab` is empty. `hostile` has
 * scripts in every field that its tenant writes.
 */
export async function demoContent(admin: RestTransport): Promise<void> {
  for (const name of ['maker', 'shop', 'lab', 'hostile']) await createWorkspace(admin, 'root', name);
  for (const name of ['staging', 'production']) await createWorkspace(admin, 'root:shop', name);
  const create = (cluster: string, path: string, body: object): Promise<unknown> =>
    admin.json({ method: 'POST', path: `/clusters/root:${cluster}/${path}`, body: JSON.stringify(body) });
  await offer(create, 'maker', {
    group: 'data.example.com',
    kind: 'Database',
    plural: 'databases',
    name: 'databases',
    description: 'A database that its provider runs for you.',
    properties: {
      engine: { type: 'string', enum: ['postgres', 'mysql'], description: 'Which engine runs it.' },
      sizeGiB: { type: 'integer', minimum: 1, description: 'Its disk in GiB.' },
    },
    column: { name: 'Engine', type: 'string', jsonPath: '.spec.engine', description: 'Which engine runs it.' },
  });
  await offer(create, 'hostile', {
    group: 'hostile.example.com',
    kind: 'Script',
    plural: 'scripts',
    name: 'scripts',
    description: `${image}${script}`,
    properties: {
      engine: { type: 'string', description: image, default: script },
      sizeGiB: { type: 'integer', description: link },
    },
    column: { name: image, type: 'string', jsonPath: '.spec.engine', description: script },
  });
  await bind(create, admin, 'shop', 'maker', 'databases');
  await bind(create, admin, 'hostile', 'hostile', 'scripts');
  for (const [name, engine, sizeGiB] of [
    ['orders', 'postgres', 50],
    ['catalogue', 'postgres', 20],
    ['sessions', 'mysql', 5],
  ] as const)
    await create('shop', 'apis/data.example.com/v1/namespaces/default/databases', {
      apiVersion: 'data.example.com/v1',
      kind: 'Database',
      metadata: { name, labels: { team: 'web' } },
      spec: { engine, sizeGiB },
    });
  await roles(create, 'shop', ['web-developer', 'mia']);
  await roles(create, 'hostile', [image, script.replaceAll('/', '')]);
  await create('hostile', 'apis/hostile.example.com/v1/namespaces/default/scripts', {
    apiVersion: 'hostile.example.com/v1',
    kind: 'Script',
    metadata: { name: 'one', annotations: { 'example.com/note': `${image}${script}`, 'example.com/link': link } },
    spec: { engine: `${image}${script}`, sizeGiB: 1 },
  });
  const one = '/clusters/root:hostile/apis/hostile.example.com/v1/namespaces/default/scripts/one';
  const condition = {
    type: 'Ready',
    status: 'False',
    reason: image,
    message: `${script}${image}`,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await admin.json({
    method: 'PATCH',
    path: `${one}/status`,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ status: { phase: image, url: link, conditions: [condition] } }),
  });
  await create('hostile', 'api/v1/namespaces/default/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'one.1' },
    involvedObject: { apiVersion: 'hostile.example.com/v1', kind: 'Script', name: 'one', namespace: 'default' },
    type: 'Warning',
    reason: image,
    message: `${script}${image}`,
    source: { component: image },
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    count: 1,
  });
}

type Create = (cluster: string, path: string, body: object) => Promise<unknown>;

interface Offered {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly name: string;
  readonly description: string;
  readonly properties: object;
  readonly column: object;
}

async function offer(
  create: Create,
  cluster: string,
  { group, kind, plural, name, description, properties, column }: Offered,
): Promise<void> {
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await create(cluster, 'apis/apis.kcp.io/v1alpha1/apiresourceschemas', {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `v1.${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            type: 'object',
            description,
            properties: { spec: { type: 'object', description, properties }, status },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [column],
        },
      ],
    },
  });
  await create(cluster, 'apis/apis.kcp.io/v1alpha2/apiexports', {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name, annotations: { 'example.com/description': description } },
    spec: {
      resources: [{ group, name: plural, schema: `v1.${plural}.${group}`, storage: { crd: {} } }],
      permissionClaims: [
        { group: '', resource: 'secrets', verbs: ['get', 'list', 'create'] },
        { group: '', resource: 'configmaps', verbs: ['get', 'list', 'watch'] },
      ],
    },
  });
}

async function bind(create: Create, admin: RestTransport, cluster: string, maker: string, name: string): Promise<void> {
  await create(cluster, 'apis/apis.kcp.io/v1alpha2/apibindings', {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: {
      reference: { export: { path: `root:${maker}`, name } },
      permissionClaims: [
        {
          group: '',
          resource: 'secrets',
          verbs: ['get', 'list', 'create'],
          state: 'Accepted',
          selector: { matchAll: true },
        },
        {
          group: '',
          resource: 'configmaps',
          verbs: ['get', 'list', 'watch'],
          state: 'Rejected',
          selector: { matchAll: true },
        },
      ],
    },
  });
  await eventually(async () => {
    const path = `/clusters/root:${cluster}/apis/apis.kcp.io/v1alpha2/apibindings/${name}`;
    const { status } = (await admin.json({ method: 'GET', path })) as { readonly status?: { readonly phase?: string } };
    if (status?.phase !== 'Bound') throw new Error(`the binding is ${status?.phase ?? 'new'}`);
  });
}

async function roles(create: Create, cluster: string, [role, user]: readonly [string, string]): Promise<void> {
  await create(cluster, `apis/${rbac}/v1/clusterroles`, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: role },
    rules: [
      { apiGroups: ['data.example.com'], resources: ['databases'], verbs: ['*'] },
      { nonResourceURLs: ['/'], verbs: ['access'] },
    ],
  });
  await create(cluster, `apis/${rbac}/v1/clusterrolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'developers' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [
      { apiGroup: rbac, kind: 'User', name: user },
      { apiGroup: rbac, kind: 'Group', name: `${user}s` },
    ],
  });
}
