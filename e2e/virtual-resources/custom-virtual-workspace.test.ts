import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { eventually, TempDir, testCertificates } from '@multiplane/testing';
import { Kubectl } from '../harness/kubectl.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import { field, grantAccess } from '../harness/workspaces.ts';
import { quoteGroup, quoteSchema } from './quote-definition.ts';
import { Quotes, QuoteService } from './quote-service.ts';

/**
 * A provider serves quotes from a virtual workspace of its own. The endpoint slice is of a kind that the provider defines,
 * the prices are computed there, and consumers on every shard write quotes in their own workspaces.
 */
const patient = { timeout: 30_000 };
const sliceGroup = 'endpoints.example.com';
const contract = 'contract-token';

let directory: TempDir;
let certificates: Awaited<ReturnType<typeof testCertificates>>;
let shared: SharedApis;
let quotes: Quotes;
const services: QuoteService[] = [];

const startService = async (port?: number): Promise<QuoteService> => {
  const { server, authorityPem } = certificates;
  return QuoteService.start(
    { certificate: server, shardCa: authorityPem, ...(port === undefined ? {} : { port }) },
    quotes,
  );
};

beforeAll(async () => {
  directory = await TempDir.create('quotes');
  certificates = await testCertificates('servers of virtual resources');
  const client = await certificates.client('virtual-resources');
  const files = {
    'ca.crt': certificates.authorityPem,
    'tls.crt': client.certificatePem,
    'tls.key': client.privateKeyPem,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(directory.join(name), content);
  quotes = new Quotes();
  services.push(await startService(), await startService());
  shared = await SharedApis.start({
    // No other suite has its files.
    ownProcesses: true,
    flags: [
      `--virtual-resource-ca-file=${directory.join('ca.crt')}`,
      `--virtual-resource-client-cert-file=${directory.join('tls.crt')}`,
      `--virtual-resource-client-key-file=${directory.join('tls.key')}`,
      '--webhook-allowed-networks=127.0.0.0/8,::1',
    ],
    tokens: ['user-1-token,user-1,2', 'user-2-token,user-2,3', `${contract},carol,4,"customers-with-contract"`],
  });
  await shared.nearAndFar();
}, 240_000);

afterAll(async () => {
  await shared?.[Symbol.asyncDispose]();
  for (const service of services) await service[Symbol.asyncDispose]();
  await quotes?.[Symbol.asyncDispose]();
  await directory?.remove();
});

const provider = '/clusters/root:provider';
const slices = `${provider}/apis/${sliceGroup}/v1/quoteslices`;
const exported = `${provider}/apis/apis.kcp.io/v1alpha2/apiexports/quotes`;
const quotesOf = (consumer: string): string => `/clusters/root:${consumer}/apis/${quoteGroup}/v1/quotes`;
const quote = (name: string, cpus: number): KubeObject => ({
  apiVersion: `${quoteGroup}/v1`,
  kind: 'Quote',
  metadata: { name },
  spec: { cpus },
});
const names = (list: unknown): string[] =>
  ((list as { items: KubeObject[] }).items ?? []).map(({ metadata }) => metadata.name ?? '');

const sliceDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `quoteslices.${sliceGroup}` },
  spec: {
    group: sliceGroup,
    scope: 'Cluster',
    names: { plural: 'quoteslices', singular: 'quoteslice', kind: 'QuoteSlice', listKind: 'QuoteSliceList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              status: {
                type: 'object',
                properties: {
                  endpoints: { type: 'array', items: { type: 'object', properties: { url: { type: 'string' } } } },
                },
              },
            },
          },
        },
      },
    ],
  },
};

async function publishEndpoints(urls: readonly string[]): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { status: { endpoints: urls.map((url) => ({ url })) } };
  await shared.requests.must({ method: 'PATCH', path: `${slices}/quotes/status`, headers, body });
}

async function condition(): Promise<string> {
  const conditions = field(await shared.get(exported), 'status', 'conditions') as JsonObject[] | undefined;
  const found = conditions?.find(({ type }) => type === 'VirtualStorageValid');
  const { status, reason } = (found ?? {}) as { status?: string; reason?: string };
  return reason === undefined ? (status ?? '') : `${status ?? ''} ${reason}`;
}

describe('a virtual workspace of the provider', () => {
  test('is found through an endpoint slice of the provider’s own kind', async () => {
    await shared.addSchema(quoteSchema);
    await shared.offer({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'quotes' },
      spec: {
        resources: [
          {
            name: 'quotes',
            group: quoteGroup,
            schema: `v1.quotes.${quoteGroup}`,
            storage: {
              virtual: {
                reference: { apiGroup: sliceGroup, kind: 'QuoteSlice', name: 'quotes' },
                identityHash: 'none',
              },
            },
          },
        ],
      },
    });
    await eventually(async () => expect(await condition()).toBe('False UnknownEndpointSliceKind'), patient);
    await shared.post(`${provider}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, sliceDefinition);
    await eventually(async () => expect(await condition()).toBe('False EndpointSliceNotFound'), patient);
    const slice = { apiVersion: `${sliceGroup}/v1`, kind: 'QuoteSlice', metadata: { name: 'quotes' } };
    await eventually(() => shared.post(slices, slice), patient);
    await eventually(async () => expect(await condition()).toBe('False NoEndpoints'), patient);
    await publishEndpoints(services.map(({ url }) => url));
    await eventually(async () => expect(await condition()).toBe('True'), patient);
    expect(field(await shared.get(exported), 'status', 'virtualResources')).toEqual([
      { group: quoteGroup, name: 'quotes', endpoints: services.map(({ url }) => ({ url })) },
    ]);
  }, 120_000);

  test.each(['near', 'far'])(
    'serves every verb to the consumer %s',
    async (consumer) => {
      const binding = await shared.bind(consumer, 'quotes');
      for (const bound of field(binding, 'status', 'boundResources') as JsonObject[])
        expect(bound['storageVersions']).toBeUndefined();
      const path = quotesOf(consumer);
      await eventually(async () => expect(names(await shared.get(path))).toEqual([]), patient);
      const watch = await shared.requests.watch(
        `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      );
      const created = await shared.post(path, { ...quote('small', 4), status: { price: 1 } });
      expect(field(created, 'status')).toEqual({ price: 20, requestedBy: 'admin' });
      expect(field(created, 'metadata', 'annotations')).toEqual({ 'kcp.io/cluster': shared.clusters.get(consumer) });
      const changed = await shared.patch(`${path}/small`, { spec: { cpus: 6 } });
      expect(field(changed, 'status', 'price')).toBe(30);
      const updated = await shared.requests.must({
        method: 'PUT',
        path: `${path}/small`,
        body: { ...(changed as object), spec: { cpus: 8 } },
      });
      expect(field(updated.json as JsonObject, 'status', 'price')).toBe(40);
      const applied = await shared.requests.must({
        method: 'PATCH',
        path: `${path}/applied?fieldManager=e2e`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: quote('applied', 2),
      });
      expect(field(applied.json as JsonObject, 'status', 'price')).toBe(10);
      expect(field(await shared.get(`${path}/small`), 'spec', 'cpus')).toBe(8);
      expect(names(await shared.get(path))).toEqual(['applied', 'small']);
      expect(names(await shared.get(`${path}?fieldSelector=metadata.name%3Dsmall`))).toEqual(['small']);
      const invalid = await shared.requests.send({ method: 'POST', path, body: quote('none', 0) });
      expect(invalid.status).toBe(422);
      expect(invalid.json['message']).toContain('spec.cpus');
      await shared.remove(`${path}/applied`);
      const seen = (): string[] =>
        watch.events.map(({ type, object }) => `${String(type)} ${(object as KubeObject).metadata.name ?? ''}`.trim());
      await eventually(async () => {
        expect(seen()).toEqual([
          'BOOKMARK',
          'ADDED small',
          'MODIFIED small',
          'MODIFIED small',
          'ADDED applied',
          'DELETED applied',
        ]);
      }, patient);
      watch.close();
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const table = await shared.requests.must({ path, headers: { accept } });
      expect((table.json['rows'] as { cells: unknown[] }[]).map(({ cells }) => cells)).toEqual([['small', 8, 40]]);
    },
    120_000,
  );

  test('keeps the quotes of consumers apart', async () => {
    await shared.post(quotesOf('near'), quote('of-near', 1));
    expect(names(await shared.get(quotesOf('far')))).toEqual(['small']);
    expect((await shared.requests.send({ path: `${quotesOf('far')}/of-near` })).status).toBe(404);
  });

  test('is in the APIExport virtual workspace of the provider, for one consumer and for all of a shard', async () => {
    const base = `/services/apiexport/${shared.clusters.get('provider') ?? ''}/quotes/clusters`;
    const near = shared.clusters.get('near') ?? '';
    const path = (cluster: string): string => `${base}/${cluster}/apis/${quoteGroup}/v1/quotes`;
    await eventually(async () => expect(names(await shared.get(path(near)))).toEqual(['of-near', 'small']), patient);
    const all = (await shared.get(path('*'))) as unknown as { items: KubeObject[] };
    const ofNear = all.items.filter(({ metadata }) => metadata.annotations?.['kcp.io/cluster'] === near);
    expect(ofNear.map(({ metadata }) => metadata.name)).toEqual(['of-near', 'small']);
  }, 60_000);

  test('is described by discovery, both forms alike, and by kubectl explain', async () => {
    const plain = await shared.get(`/clusters/root:far/apis/${quoteGroup}/v1`);
    const [entry] = field(plain, 'resources') as { name: string; verbs: string[] }[];
    const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
    expect([entry?.name, entry?.verbs.toSorted()]).toEqual(['quotes', all]);
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const aggregated = await shared.requests.must({ path: '/clusters/root:far/apis', headers: { accept } });
    const groups = aggregated.json['items'] as {
      metadata: { name: string };
      versions: { resources: JsonObject[] }[];
    }[];
    const found = groups.find(({ metadata }) => metadata.name === quoteGroup)?.versions[0]?.resources[0];
    expect(found).toMatchObject({ resource: 'quotes', verbs: entry?.verbs, shortNames: ['qt'] });
    await using kubectl = await Kubectl.create({
      server: `${shared.cluster.url}/clusters/root:far`,
      ca: shared.cluster.ca,
      token: testTokens.masters,
    });
    expect(await kubectl.ok(['explain', 'quote.spec.cpus'])).toContain('Number of virtual CPUs.');
    expect(await kubectl.ok(['get', 'qt', '--no-headers'])).toMatch(/^small +8 +40\n$/);
  }, 60_000);

  test('gets the caller, after RBAC of the consumer allowed the request', async () => {
    const admin = shared.cluster.transport('base');
    await grantAccess(admin, 'root:far', ['user-1', 'carol']);
    admin.close();
    const path = quotesOf('far');
    await eventually(async () => {
      const refused = await shared.requests.send({ as: 'user-1', path });
      expect(refused.json['message']).toContain('cannot list resource "quotes"');
    }, patient);
    const rbac = '/clusters/root:far/apis/rbac.authorization.k8s.io/v1';
    const roleGroup = 'rbac.authorization.k8s.io';
    await shared.post(`${rbac}/clusterroles`, {
      apiVersion: `${roleGroup}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'quotes' },
      rules: [{ apiGroups: [quoteGroup], resources: ['quotes'], verbs: ['*'] }],
    });
    await shared.post(`${rbac}/clusterrolebindings`, {
      apiVersion: `${roleGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'quotes' },
      roleRef: { apiGroup: roleGroup, kind: 'ClusterRole', name: 'quotes' },
      subjects: ['user-1', 'carol'].map((name) => ({ apiGroup: roleGroup, kind: 'User', name })),
    });
    const created = await eventually(
      () => shared.requests.must({ as: 'user-1', method: 'POST', path, body: quote('of-user-1', 64) }),
      patient,
    );
    expect(field(created.json as JsonObject, 'status', 'requestedBy')).toBe('user-1');
    const refused = await shared.requests.send({ as: 'user-1', method: 'POST', path, body: quote('huge', 65) });
    expect([refused.status, refused.json['message']]).toEqual([
      403,
      expect.stringContaining('user-1 has no contract for more than 64 CPUs'),
    ]);
    const huge = await shared.requests.must({ as: contract, method: 'POST', path, body: quote('huge', 65) });
    expect(field(huge.json as JsonObject, 'status', 'requestedBy')).toBe('carol');
  }, 60_000);

  test('is behind the maximal permission policy of the export', async () => {
    await shared.patch(exported, { spec: { maximalPermissionPolicy: { local: {} } } });
    const path = quotesOf('far');
    await eventually(async () => {
      expect((await shared.requests.send({ as: 'user-1', path })).status).toBe(403);
    }, patient);
    await shared.patch(exported, { spec: { maximalPermissionPolicy: null } });
    await eventually(async () => {
      expect((await shared.requests.send({ as: 'user-1', path })).status).toBe(200);
    }, patient);
  }, 60_000);

  test('may have several servers: requests are spread, and a dead one costs none', async () => {
    const [first, second] = services as [QuoteService, QuoteService];
    const path = quotesOf('far');
    for (const service of services) service.requests.length = 0;
    for (let i = 0; i < 10; i++) await shared.get(path);
    for (const { requests } of services)
      expect(requests.filter((line) => line.includes(' list ')).length).toBeGreaterThan(2);
    const { port } = first;
    await first[Symbol.asyncDispose]();
    for (let i = 0; i < 10; i++) await shared.get(path);
    await shared.post(path, quote('while-one-is-dead', 1));
    services[0] = await startService(port);
    await eventually(async () => {
      await shared.get(path);
      expect(services[0]?.requests.some((line) => line.includes(' list '))).toBe(true);
    }, patient);
    expect(second.requests.length).toBeGreaterThan(10);
  }, 60_000);

  test('that is away costs its own resources only, and discovery keeps their verbs with a warning', async () => {
    const ports = services.map(({ port }) => port);
    await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
    const path = quotesOf('far');
    const refused = await eventually(async () => {
      const answer = await shared.requests.send({ path });
      expect(answer.status).toBe(503);
      return answer;
    }, patient);
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.json['message']).toContain('of APIExport root:provider:quotes is unavailable');
    await eventually(async () => {
      const discovery = await shared.requests.must({ path: `/clusters/root:far/apis/${quoteGroup}/v1` });
      expect(discovery.headers['warning']).toContain(
        `Some resources are temporarily unavailable: [quotes.${quoteGroup}].`,
      );
      const [entry] = discovery.json['resources'] as { verbs: string[] }[];
      expect(entry?.verbs).toContain('create');
    }, patient);
    for (const [index, port] of ports.entries()) services[index] = await startService(port);
    await eventually(async () => expect(names(await shared.get(path))).toContain('small'), patient);
    await eventually(async () => {
      const discovery = await shared.requests.must({ path: `/clusters/root:far/apis/${quoteGroup}/v1` });
      expect(discovery.headers['warning']).toBeUndefined();
    }, patient);
  }, 90_000);

  test('at a URL of the control plane’s own servers gets nothing from them', async () => {
    const { url } = shared.cluster.rootShard;
    await publishEndpoints([`${url}/clusters/root`]);
    const refused = await eventually(async () => {
      const answer = await shared.requests.send({ path: quotesOf('far') });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      return answer;
    }, patient);
    expect(JSON.stringify(refused.json)).not.toContain('"items"');
    await publishEndpoints(services.map((service) => service.url));
    await eventually(async () => expect(names(await shared.get(quotesOf('far')))).toContain('small'), patient);
  }, 60_000);

  test('without its endpoint slice is refused in terms of consumers, at once', async () => {
    await shared.remove(`${slices}/quotes`);
    await eventually(async () => {
      const refused = await shared.requests.send({ path: quotesOf('far') });
      expect([refused.status, refused.headers['retry-after'], refused.json['message']]).toEqual([
        503,
        undefined,
        expect.stringMatching(
          /^the virtual resource quotes\.\S+ of APIExport root:provider:quotes is not available: its provider has not set it up/,
        ),
      ]);
    }, patient);
  }, 60_000);
});
