import { describe, expect, test } from '@jest/globals';
import { builtInResources, type ResourceDefinition } from '@multiplane/apis';
import { MemoryExchange, memoryContext } from '../../test/memory-exchange.ts';
import { discoveryHandler } from './discovery-handler.ts';
import { goldenResources, storageVersionHashes } from '../../test/golden-discovery.data.ts';

/** A definition of a custom resource, without the fields that discovery ignores. */
function custom(overrides: Partial<ResourceDefinition>): ResourceDefinition {
  return {
    group: 'g.example.com',
    version: 'v1',
    resource: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    namespaced: true,
    shortNames: ['wd'],
    categories: ['all'],
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    origin: 'custom',
    subresources: {},
    storage: { group: 'g.example.com', version: 'v1', kind: 'Widget', prefix: 'g.example.com/widgets' },
    ...overrides,
  } as ResourceDefinition;
}

const status = {
  type: 'object',
  verbs: ['get', 'patch', 'update'],
} as unknown as ResourceDefinition['subresources'][string];
const scale = {
  type: 'scale',
  verbs: ['get', 'patch', 'update'],
} as unknown as ResourceDefinition['subresources'][string];
const widgets = [
  custom({ version: 'v1beta1' }),
  custom({ subresources: { status, scale } }),
  custom({ version: 'v2alpha1', resource: 'gadgets' }),
];

class Clusters {
  readonly definitions: Record<string, readonly ResourceDefinition[]> = {
    a: [...builtInResources(), ...widgets],
    b: builtInResources(),
  };
  hashes: Record<string, string> = { a: 'a', b: 'b' };
  readonly #handler = discoveryHandler(
    { serverAddress: 'host:6443' },
    {
      resolver: {
        resolve: () => undefined,
        list: (cluster) => this.definitions[cluster] ?? [],
        discoveryHash: (cluster) => this.hashes[cluster] ?? '',
        isBuiltInGroup: (group) => group.endsWith('.k8s.io') || group === '',
      },
    },
  );

  async ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<MemoryExchange> {
    const exchange = new MemoryExchange(method, url, headers);
    await this.#handler(memoryContext(exchange));
    return exchange;
  }
  async json(url: string, accept = 'application/json'): Promise<Record<string, never>> {
    return JSON.parse((await this.ask(url, { accept })).body) as Record<string, never>;
  }
}

const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

describe('unaggregated discovery', () => {
  test('/api', async () => {
    const clusters = new Clusters();
    for (const path of ['/clusters/a/api', '/clusters/a/api/']) {
      expect(await clusters.json(path)).toEqual({
        kind: 'APIVersions',
        versions: ['v1'],
        serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'host:6443' }],
      });
    }
    expect((await clusters.ask('/clusters/a/api', { accept: 'application/yaml' })).body).toBe(
      'kind: APIVersions\nserverAddressByClientCIDRs:\n- clientCIDR: 0.0.0.0/0\n  serverAddress: host:6443\nversions:\n- v1\n',
    );
  });

  test('/apis: groups by priority, then name', async () => {
    const { groups, ...head } = (await new Clusters().json('/clusters/a/apis')) as unknown as {
      groups: { name: string }[];
    };
    expect(head).toEqual({ kind: 'APIGroupList', apiVersion: 'v1' });
    const names = groups.map(({ name }) => name);
    const ofKubernetes = [...new Set(goldenResources.map(([group]) => group))].filter((group) => group !== '');
    expect(names.filter((name) => ofKubernetes.includes(name))).toEqual(ofKubernetes);
    const others = names.slice(ofKubernetes.length);
    expect(others).toContain('g.example.com');
    expect(others).toEqual([...others].sort());
  });

  test('/apis/<group>: the preferred version first', async () => {
    const clusters = new Clusters();
    expect(await clusters.json('/clusters/a/apis/g.example.com')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'g.example.com',
      versions: ['v1', 'v1beta1', 'v2alpha1'].map((version) => ({ groupVersion: `g.example.com/${version}`, version })),
      preferredVersion: { groupVersion: 'g.example.com/v1', version: 'v1' },
    });
    const missing = await clusters.ask('/clusters/b/apis/g.example.com');
    expect([missing.status, missing.body]).toEqual([404, '404 page not found\n']);
  });

  test('the resources of a definition', async () => {
    expect(await new Clusters().json('/clusters/a/apis/g.example.com/v1')).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'g.example.com/v1',
      resources: [
        {
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
          shortNames: ['wd'],
          categories: ['all'],
          storageVersionHash: expect.any(String) as never,
        },
        {
          name: 'widgets/scale',
          singularName: '',
          namespaced: true,
          group: 'autoscaling',
          version: 'v1',
          kind: 'Scale',
          verbs: ['get', 'patch', 'update'],
        },
        {
          name: 'widgets/status',
          singularName: '',
          namespaced: true,
          kind: 'Widget',
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
  });

  test('a terminating definition does not allow create', async () => {
    const clusters = new Clusters();
    clusters.definitions['a'] = [custom({ terminating: true })];
    const { resources } = (await clusters.json('/clusters/a/apis/g.example.com/v1')) as unknown as {
      resources: { verbs: string[] }[];
    };
    expect(resources[0]?.verbs).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch']);
  });

  test.each([
    ['/clusters/a/api/v2', 'Status'],
    ['/clusters/a/apis/rbac.authorization.k8s.io/v9', 'Status'],
    ['/clusters/a/apis/nope.example.com', 'text'],
    ['/clusters/a/apis/nope.example.com/v1', 'text'],
    ['/clusters/a/apis/g.example.com/v9', 'text'],
    ['/apis', 'text'],
  ])('%s is 404 as %s', async (url, form) => {
    const { status, body } = await new Clusters().ask(url);
    expect(status).toBe(404);
    expect(body.startsWith('{') ? 'Status' : 'text').toBe(form);
  });

  test('rejects other methods, except where the aggregator of kube-apiserver answers', async () => {
    const clusters = new Clusters();
    for (const path of ['api', 'api/v1', 'apis/rbac.authorization.k8s.io/v1']) {
      for (const method of ['POST', 'HEAD']) {
        const answer = await clusters.ask(`/clusters/a/${path}`, {}, method);
        expect(JSON.parse(answer.body)).toMatchObject({
          code: 405,
          message: 'the server does not allow this method on the requested resource',
          details: {},
        });
      }
    }
    for (const path of ['apis', 'apis/rbac.authorization.k8s.io'])
      for (const method of ['OPTIONS', 'POST', 'DELETE'])
        expect((await clusters.ask(`/clusters/a/${path}`, {}, method)).status).toBe(200);
    expect((await clusters.ask('/clusters/a/api', {}, 'OPTIONS')).status).toBe(405);
  });
});

interface Aggregated {
  kind: string;
  apiVersion: string;
  items: {
    metadata: { name?: string };
    versions: { version: string; freshness: string; resources: Record<string, unknown>[] }[];
  }[];
}

describe('aggregated discovery', () => {
  test('a custom resource has a full response kind', async () => {
    const document = (await new Clusters().json('/clusters/a/apis', v2)) as unknown as Aggregated;
    expect(document).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    });
    const group = document.items.find((item) => item.metadata.name === 'g.example.com');
    expect(group?.versions.map(({ version, freshness }) => [version, freshness])).toEqual([
      ['v1', 'Current'],
      ['v1beta1', 'Current'],
      ['v2alpha1', 'Current'],
    ]);
    const kind = { group: 'g.example.com', version: 'v1', kind: 'Widget' };
    expect(group?.versions[0]?.resources).toEqual([
      {
        resource: 'widgets',
        responseKind: kind,
        scope: 'Namespaced',
        singularResource: 'widget',
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
        shortNames: ['wd'],
        categories: ['all'],
        subresources: [
          {
            subresource: 'scale',
            responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
            verbs: ['get', 'patch', 'update'],
          },
          { subresource: 'status', responseKind: kind, verbs: ['get', 'patch', 'update'] },
        ],
      },
    ]);
  });

  test('the core group has no name', async () => {
    const document = (await new Clusters().json('/clusters/b/api', v2)) as unknown as Aggregated;
    expect(document.items).toHaveLength(1);
    expect(document.items[0]).toMatchObject({ metadata: {}, versions: [{ version: 'v1', freshness: 'Current' }] });
  });

  test.each([
    [v2, v2],
    [`${v2beta1},${v2},application/json`, v2],
    [`${v2beta1},application/json`, v2beta1],
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
  ])('Accept: %s', async (accept, type) => {
    const answer = await new Clusters().ask('/clusters/a/apis', { accept });
    expect([answer.status, answer.answer['content-type']]).toEqual([200, type]);
    expect(answer.body).toContain(
      type === v2 ? 'apidiscovery.k8s.io/v2"' : type === v2beta1 ? 'apidiscovery.k8s.io/v2beta1"' : '"APIGroupList"',
    );
  });

  test('rejects v2beta1 alone, and is served for /api and /apis only', async () => {
    const clusters = new Clusters();
    await expect(clusters.ask('/clusters/a/apis', { accept: v2beta1 })).rejects.toMatchObject({ code: 406 });
    expect((await clusters.json('/clusters/a/apis/g.example.com', `${v2},application/json`))['kind']).toBe('APIGroup');
  });

  test('returns 304 for an unchanged document, and changes immediately', async () => {
    const clusters = new Clusters();
    const first = await clusters.ask('/clusters/a/apis', { accept: v2 });
    const etag = String(first.answer['etag']);
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    expect(first.answer).toMatchObject({ vary: 'Accept', 'cache-control': 'public' });
    const again = (): Promise<MemoryExchange> =>
      clusters.ask('/clusters/a/apis', { accept: v2, 'if-none-match': etag });
    const unchanged = await again();
    expect([unchanged.status, unchanged.body]).toEqual([304, '']);
    clusters.definitions['a'] = builtInResources();
    clusters.hashes['a'] = 'changed';
    const changed = await again();
    expect(changed.status).toBe(200);
    expect(changed.answer['etag']).not.toBe(etag);
    expect(changed.answer['etag']).toBe((await clusters.ask('/clusters/b/apis', { accept: v2 })).answer['etag']);
  });
});

describe('built-in resources equal Kubernetes 1.36', () => {
  const groupVersions = [
    ...new Set(
      goldenResources.map(([group, version]) => (group === '' ? `api/${version}` : `apis/${group}/${version}`)),
    ),
  ];

  test.each(groupVersions)('%s', async (path) => {
    const { resources } = (await new Clusters().json(`/clusters/b/${path}`)) as unknown as {
      resources: Record<string, unknown>[];
    };
    const expected = goldenResources
      .filter(([group, version]) => path === (group === '' ? `api/${version}` : `apis/${group}/${version}`))
      .map(([group, , name, kind, scope, singularName, shortNames, categories, verbs, otherKind]) => {
        const hash = storageVersionHashes[`${group}/${name}`];
        const [otherGroup, otherVersion] = otherKind.split('/');
        return {
          name,
          singularName,
          namespaced: scope === 'N',
          ...(otherKind === '' ? {} : { group: otherGroup, version: otherVersion }),
          kind,
          verbs:
            verbs === '*'
              ? ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
              : verbs.split(','),
          ...(shortNames === '' ? {} : { shortNames: shortNames.split(',') }),
          ...(categories === '' ? {} : { categories: categories.split(',') }),
          ...(hash === undefined ? {} : { storageVersionHash: hash }),
        };
      });
    const group = expectedGroupOf(path);
    const compared = resources.map((resource) =>
      storageVersionHashes[`${group}/${String(resource['name'])}`] === undefined ? withoutHash(resource) : resource,
    );
    expect(compared).toEqual(expected);
  });
});

const expectedGroupOf = (path: string): string => (path.startsWith('api/') ? '' : (path.split('/')[1] ?? ''));

/** Hashes are only compared where they were recorded. */
function withoutHash({ storageVersionHash: _hash, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}
