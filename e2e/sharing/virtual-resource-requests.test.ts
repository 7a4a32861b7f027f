import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import { namesOf, schemaOf, VirtualResources, type PublishedKind } from '../harness/virtual-resources.ts';
import { field, grantAccess } from '../harness/workspaces.ts';

/** A consumer's requests for virtual resources are answered as those for any other resource. */
const group = 'cloud.example.com';
const patient = { timeout: 60_000 };
const consumers = ['near', 'far'];
const flavors: PublishedKind = {
  group,
  plural: 'cpuflavors',
  kind: 'CpuFlavor',
  scope: 'Cluster',
  spec: {
    type: 'object',
    description: 'What a machine of this flavor has.',
    properties: { cpus: { type: 'integer', description: 'Number of processors.' } },
  },
  version: {
    additionalPrinterColumns: [{ name: 'CPUs', type: 'integer', jsonPath: '.spec.cpus' }],
  },
};
/** In the core group: the provider has bound it, since no CRD can be of that group. */
const volumes: PublishedKind = {
  group: '',
  plural: 'volumes',
  kind: 'Volume',
  scope: 'Cluster',
  spec: { type: 'object', properties: { gigabytes: { type: 'integer' } } },
};

let shared: SharedApis;
let virtual: VirtualResources;

beforeAll(async () => {
  shared = await SharedApis.start();
  virtual = new VirtualResources(shared);
  await shared.nearAndFar();
  await virtual.define(flavors);
  await bindVolumes();
  await virtual.describe(volumes);
  for (const [name, cpus] of Object.entries({ small: 1, medium: 4, large: 16 }))
    await shared.post(virtual.path('provider', 'cpuflavors'), {
      apiVersion: `${group}/v1`,
      kind: 'CpuFlavor',
      metadata: { name, labels: { size: name } },
      spec: { cpus },
    });
  await shared.post(virtual.path('provider', 'volumes'), {
    apiVersion: 'v1',
    kind: 'Volume',
    metadata: { name: 'ssd' },
    spec: { gigabytes: 100 },
  });
  for (const plural of ['cpuflavors', 'volumes']) await virtual.replicate(plural);
  await virtual.offer('compute', ['cpuflavors'], { maximalPermissionPolicy: { local: {} } });
  await virtual.offer('storage', ['volumes']);
  for (const consumer of consumers) {
    for (const name of ['compute', 'storage']) await shared.bind(consumer, name);
    await virtual.shown(consumer, 'cpuflavors', ['large', 'medium', 'small']);
    await virtual.shown(consumer, 'volumes', ['ssd']);
  }
}, 300_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
});

/** The workspace `origin` shares volumes with the provider, as an ordinary resource. */
async function bindVolumes(): Promise<void> {
  await shared.workspace('origin');
  const origin = '/clusters/root:origin/apis/apis.kcp.io';
  await shared.post(`${origin}/v1alpha1/apiresourceschemas`, schemaOf(volumes));
  await shared.post(`${origin}/v1alpha2/apiexports`, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'volumes' },
    spec: { resources: [{ name: 'volumes', group: '', schema: 'v1.volumes.core' }] },
  });
  await eventually(
    () =>
      shared.post('/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apibindings', {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: 'volumes' },
        spec: { reference: { export: { path: 'root:origin', name: 'volumes' } } },
      }),
    patient,
  );
}

const partial = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

describe.each(consumers)('in the workspace %s', (consumer) => {
  const path = (): string => virtual.path(consumer, 'cpuflavors');

  test('selectors on labels and on fields choose objects, and an unknown field is refused', async () => {
    const chosen = async (query: string): Promise<string[]> => namesOf(await shared.get(`${path()}?${query}`));
    expect(await chosen('labelSelector=size%20in%20%28small%2Clarge%29')).toEqual(['large', 'small']);
    expect(await chosen('labelSelector=size%21%3Dsmall')).toEqual(['large', 'medium']);
    expect(await chosen('fieldSelector=metadata.name%3Dsmall')).toEqual(['small']);
    const refused = await shared.requests.send({ path: `${path()}?fieldSelector=spec.cpus%3D1` });
    expect([refused.status, refused.json['message']]).toEqual([400, 'field label not supported: spec.cpus']);
  });

  test('a Table has the columns of the schema', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { json } = await shared.requests.must({ path: path(), headers: { accept } });
    expect((json['columnDefinitions'] as JsonObject[]).map(({ name }) => name)).toEqual(['Name', 'CPUs']);
    expect((json['rows'] as JsonObject[]).map(({ cells }) => cells)).toEqual([
      ['large', 16],
      ['medium', 4],
      ['small', 1],
    ]);
  });

  test('only metadata is answered where only metadata is asked for', async () => {
    const { json } = await shared.requests.must({ path: path(), headers: { accept: partial } });
    expect(json['kind']).toBe('PartialObjectMetadataList');
    const items = json['items'] as KubeObject[];
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['large', 'medium', 'small']);
    for (const item of items) {
      expect(item['spec']).toBeUndefined();
      expect(item.metadata.annotations).toEqual({ 'kcp.io/cluster': shared.clusters.get(consumer) });
    }
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const one = await shared.requests.must({ path: `${path()}/small`, headers: { accept } });
    expect([one.json['kind'], one.json['spec']]).toEqual(['PartialObjectMetadata', undefined]);
  });

  test('protobuf is refused where it alone is accepted, since custom resources have none', async () => {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const refused = await shared.requests.send({ path: path(), headers: { accept: protobuf } });
    expect(refused.status).toBe(406);
    const { headers, json } = await shared.requests.must({
      path: path(),
      headers: { accept: `${protobuf},application/json` },
    });
    expect(headers['content-type']).toBe('application/json');
    expect(namesOf(json)).toEqual(['large', 'medium', 'small']);
  });

  test('YAML is answered', async () => {
    const { text } = await shared.requests.must({ path: `${path()}/large`, headers: { accept: 'application/yaml' } });
    expect(text).toContain('cpus: 16');
  });

  test('a long list comes in pages that belong together', async () => {
    const seen: string[] = [];
    let token = '';
    const versions = new Set<unknown>();
    do {
      const page = await shared.get(`${path()}?limit=1${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`);
      seen.push(...namesOf(page));
      versions.add(field(page, 'metadata', 'resourceVersion'));
      token = (field(page, 'metadata', 'continue') as string | undefined) ?? '';
    } while (token !== '');
    expect(seen).toEqual(['large', 'medium', 'small']);
    expect(versions.size).toBe(1);
  });

  test.each(['PUT', 'PATCH', 'DELETE', 'POST'])('%s answers 405 and names the export', async (method) => {
    const verb = { PUT: 'update', PATCH: 'patch', DELETE: 'delete', POST: 'create' }[method];
    const target = method === 'POST' ? path() : `${path()}/small`;
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    const body = { apiVersion: `${group}/v1`, kind: 'CpuFlavor', metadata: { name: 'small' } };
    const { status, json } = await shared.requests.send({ method, path: target, headers, body });
    expect([status, json['reason']]).toEqual([405, 'MethodNotAllowed']);
    expect(json['message']).toBe(
      `${verb} is not supported on resources of kind "cpuflavors.${group}": the resource is read-only and comes from APIExport root:provider:compute`,
    );
  });

  test('deleting a collection answers 405 and names the export', async () => {
    const { status, json } = await shared.requests.send({ method: 'DELETE', path: path() });
    expect(status).toBe(405);
    expect(json['message']).toContain('the resource is read-only and comes from APIExport root:provider:compute');
    expect(namesOf(await shared.get(virtual.path('provider', 'cpuflavors')))).toEqual(['large', 'medium', 'small']);
  });

  test('OpenAPI v3 and v2 describe the schema', async () => {
    await eventually(async () => {
      const v3 = await shared.get(`/clusters/root:${consumer}/openapi/v3/apis/${group}/v1`);
      const schema = field(v3, 'components', 'schemas', 'com.example.cloud.v1.CpuFlavor', 'properties', 'spec');
      expect(schema).toMatchObject({ properties: { cpus: { type: 'integer', description: 'Number of processors.' } } });
      const v2 = await shared.get(`/clusters/root:${consumer}/openapi/v2`);
      const definition = field(v2, 'definitions', 'com.example.cloud.v1.CpuFlavor', 'properties', 'spec');
      expect(definition).toMatchObject({ properties: { cpus: { type: 'integer' } } });
    }, patient);
  }, 90_000);

  test('a resource of the core group is listed, discovered and watched', async () => {
    const { resources } = (await shared.get(`/clusters/root:${consumer}/api/v1`)) as { resources: JsonObject[] };
    expect(resources).toContainEqual(expect.objectContaining({ name: 'volumes', verbs: ['get', 'list', 'watch'] }));
    const ssd = await shared.get(`${virtual.path(consumer, 'volumes')}/ssd`);
    expect(field(ssd, 'spec')).toEqual({ gigabytes: 100 });
    const watch = await shared.requests.watch(`${virtual.path(consumer, 'volumes')}?watch=true`);
    await eventually(() => expect(watch.events.map(({ type }) => type)).toEqual(['ADDED']), patient);
    watch.close();
  }, 90_000);

  test('the maximal permission policy of the export holds beside the roles of the consumer', async () => {
    const admin = shared.cluster.transport('base');
    await grantAccess(admin, `root:${consumer}`, ['user-1']);
    admin.close();
    await grant(consumer, 'flavors', ['get', 'list', 'watch'], 'user-1');
    const statuses = async (): Promise<number[]> => [
      (await shared.requests.send({ as: 'user-1', path: path() })).status,
      (await shared.requests.send({ as: 'user-1', path: `${path()}/small` })).status,
    ];
    if (consumer === consumers[0]) {
      await eventually(async () => {
        const { status, json } = await shared.requests.send({ as: 'user-1', path: path() });
        expect([status, String(json['message'])]).toEqual([403, expect.stringContaining('cannot list resource')]);
      }, patient);
      expect(await statuses()).toEqual([403, 403]);
      await grant('provider', 'consumers', ['list'], 'apis.kcp.io:binding:user-1');
    }
    await eventually(async () => expect(await statuses()).toEqual([200, 403]), patient);
  }, 120_000);
});

describe('the provider', () => {
  test('sees the virtual resources of all its consumers, one by one and all at once', async () => {
    const slice = '/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/compute';
    const expected = consumers.map((consumer) => shared.clusters.get(consumer) as string).sort();
    const seen = new Map<string, string[]>();
    await eventually(async () => {
      seen.clear();
      const { status } = (await shared.get(slice)) as { status?: { endpoints?: { url: string }[] } };
      for (const { url } of status?.endpoints ?? []) {
        const { origin, pathname } = new URL(url);
        const transport = new RestTransport({
          config: { server: origin, ca: shared.cluster.ca, token: shared.cluster.adminToken },
        });
        const list = async (cluster: string): Promise<KubeObject[]> => {
          const path = `${pathname}/clusters/${cluster}/apis/${group}/v1/cpuflavors`;
          return ((await transport.json({ method: 'GET', path })) as unknown as { items: KubeObject[] }).items;
        };
        try {
          for (const object of await list('*')) {
            const cluster = object.metadata.annotations?.['kcp.io/cluster'] ?? '';
            seen.set(cluster, [...(seen.get(cluster) ?? []), object.metadata.name ?? '']);
          }
          for (const cluster of seen.keys())
            if ((await list(cluster).catch(() => [])).length === 3) seen.get(cluster)?.push('alone');
        } finally {
          transport.close();
        }
      }
      expect([...seen.keys()].sort()).toEqual(expected);
      for (const names of seen.values()) expect(names).toEqual(['large', 'medium', 'small', 'alone']);
    }, patient);
  }, 90_000);
});

describeWithKubectl('kubectl', () => {
  test('explains and prints virtual resources', async () => {
    const kubectl = await Kubectl.create({
      server: `${shared.cluster.url}/clusters/root:far`,
      ca: shared.cluster.ca,
      token: testTokens.masters,
    });
    await using _kubectl = kubectl;
    const explained = await kubectl.ok(['explain', 'cpuflavors.spec']);
    expect(explained).toContain('What a machine of this flavor has.');
    expect(explained).toMatch(/cpus\s+<integer>\s+Number of processors\./);
    expect(await kubectl.ok(['get', 'cpuflavors', 'large'])).toMatch(/NAME\s+CPUS\nlarge\s+16\n/);
    expect(await kubectl.ok(['get', 'volumes', '-o', 'name'])).toBe('volume/ssd\n');
    expect(await kubectl.fails(['delete', 'cpuflavor', 'large'])).toContain('the resource is read-only');
  }, 60_000);
});

/** A ClusterRole for flavors and its binding to a user. */
async function grant(workspace: string, name: string, verbs: readonly string[], user: string): Promise<void> {
  const base = `/clusters/root:${workspace}/apis/rbac.authorization.k8s.io/v1`;
  const kinds = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
  await shared.post(`${base}/clusterroles`, {
    ...kinds,
    kind: 'ClusterRole',
    rules: [{ apiGroups: [group], resources: ['cpuflavors'], verbs }],
  });
  await shared.post(`${base}/clusterrolebindings`, {
    ...kinds,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
}
