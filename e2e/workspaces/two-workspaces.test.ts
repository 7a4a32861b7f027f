import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cells, describeWithKubectl, documents, Kubectl } from '../harness/kubectl.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { testTokens } from '../harness/local-cluster.ts';

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

const folder = join(import.meta.dirname, '..', 'fixtures', 'crds');
const definitions = readdirSync(folder)
  .sort()
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Definition);

const objects: readonly object[] = [
  { apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: { name: 'self' }, spec: { selfSigned: {} } },
  {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Issuer',
    metadata: { name: 'ca' },
    spec: { ca: { secretName: 'ca-key' } },
  },
  {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name: 'web' },
    spec: { secretName: 'web-tls', issuerRef: { name: 'ca' }, dnsNames: ['example.com'] },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'plain' },
    spec: { controllerName: 'example.com/gateway' },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'front' },
    spec: { gatewayClassName: 'plain', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  },
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'route' },
    spec: {
      parentRefs: [{ name: 'front' }],
      hostnames: ['example.com'],
      rules: [{ backendRefs: [{ name: 'backend', port: 8080 }] }],
    },
  },
  {
    apiVersion: 'apiextensions.crossplane.io/v1beta1',
    kind: 'EnvironmentConfig',
    metadata: { name: 'env' },
    data: { any: { deep: [1, 'two', { three: true }] } },
  },
  {
    apiVersion: 'pkg.crossplane.io/v1',
    kind: 'Provider',
    metadata: { name: 'nop' },
    spec: { package: 'example.com/provider-nop:v1' },
  },
];

describeWithKubectl('two workspaces: what one installs and stores, the other does not see', () => {
  let cluster: ControlPlane;
  let kubectl: Kubectl;
  /** For `--raw` with a workspace in the path: a kubectl from 1.33 on puts the path of the server's URL before it. */
  const wholeServer = (): string[] => ['--server', cluster.url];
  const served = async (): Promise<string[]> => (await kubectl.ok(['api-resources', '-o', 'name'])).trim().split('\n');

  beforeAll(async () => {
    cluster = await startControlPlane();
    kubectl = await Kubectl.create({ copyOf: cluster.kubeconfig });
  }, 180_000);

  afterAll(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('a newcomer creates two workspaces and enters the first', async () => {
    expect(await kubectl.ok(['ws', '.'])).toBe("Current workspace is 'root'.\n");
    for (const name of ['one', 'two']) {
      expect(await kubectl.ok(['ws', 'create', name])).toMatch(
        new RegExp(
          `^Workspace "${name}"( \\(type \\S+\\))? created\\. Waiting for it to be ready\\.\\.\\.\\nWorkspace "${name}"( \\(type \\S+\\))? is ready to use\\.\\n$`,
        ),
      );
    }
    expect(await kubectl.ok(['ws', 'one'])).toMatch(/^Current workspace is 'root:one'( \(type \S+\))?\.\n$/);
    const rows = cells(await kubectl.ok(['get', 'workspaces', '--server', `${cluster.url}/clusters/root`]));
    expect(rows.slice(1).map(([name]) => name)).toEqual(['one', 'two']);
  });

  test('the definitions of three projects are accepted, established and served', async () => {
    const created = await kubectl.ok(['create', '-f', folder]);
    expect(created.trim().split('\n')).toHaveLength(definitions.length);
    await kubectl.ok(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=20s']);
    const names = await served();
    expect(definitions.map(({ metadata }) => metadata.name).filter((name) => !names.includes(name))).toEqual([]);
    const versions = (await kubectl.ok(['api-versions'])).trim().split('\n');
    const expected = new Set(
      definitions.flatMap(({ spec }) =>
        spec.versions.filter((version) => version.served).map((version) => `${spec.group}/${version.name}`),
      ),
    );
    expect([...expected].filter((version) => !versions.includes(version))).toEqual([]);
  });

  test('each definition is explained and its empty list is served', async () => {
    const failures: string[] = [];
    for (const { metadata, spec } of definitions) {
      const explained = await kubectl.run(['explain', metadata.name]);
      if (
        explained.code !== 0 ||
        !new RegExp(`^GROUP: +${spec.group}\nKIND: +${spec.names.kind}\nVERSION: +v`).test(explained.stdout) ||
        !/^ {2}metadata\t<ObjectMeta>/m.test(explained.stdout)
      ) {
        failures.push(`${metadata.name}: ${explained.stderr}${explained.stdout}`);
      }
    }
    expect(failures).toEqual([]);
    const lists = await kubectl.run(['get', definitions.map(({ metadata }) => metadata.name).join(','), '-A']);
    expect(lists).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/(^|\n)No resources found\n$/) });
    expect(lists.stderr).toContain('Warning: apiextensions.crossplane.io Usage is deprecated');
    expect(await kubectl.ok(['explain', 'httproutes.spec.rules.backendRefs.name'])).toMatch(/FIELD: name <string>/);
  }, 120_000);

  test('objects of several kinds are created, defaulted, checked and shown', async () => {
    const printed = await kubectl.ok(['apply', '-f', '-'], { stdin: documents(...objects) });
    expect(printed.trim().split('\n')).toEqual([
      'clusterissuer.cert-manager.io/self created',
      'issuer.cert-manager.io/ca created',
      'certificate.cert-manager.io/web created',
      'gatewayclass.gateway.networking.k8s.io/plain created',
      'gateway.gateway.networking.k8s.io/front created',
      'httproute.gateway.networking.k8s.io/route created',
      'environmentconfig.apiextensions.crossplane.io/env created',
      'provider.pkg.crossplane.io/nop created',
    ]);
    const versions = (): Promise<string> =>
      kubectl.ok(['get', '-f', '-', '-o', 'jsonpath={.items[*].metadata.resourceVersion}'], {
        stdin: documents(...objects),
      });
    await kubectl.apply(...objects);
    const before = await versions();
    // kubectl says "configured" where the server filled in lists; in truth nothing is written.
    expect(await kubectl.ok(['apply', '-f', '-'], { stdin: documents(...objects) })).toBe(
      printed.replaceAll('created', 'unchanged').replace(/(front|route) unchanged/g, '$1 configured'),
    );
    expect(await versions()).toBe(before);
    const route = await kubectl.json<{ spec: { parentRefs: unknown; rules: { matches: unknown }[] } }>([
      'get',
      'httproute',
      'route',
    ]);
    expect(route.spec.parentRefs).toEqual([{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'front' }]);
    expect(route.spec.rules[0]?.matches).toEqual([{ path: { type: 'PathPrefix', value: '/' } }]);
    expect((await kubectl.json<{ data: unknown }>(['get', 'environmentconfig', 'env'])).data).toEqual({
      any: { deep: [1, 'two', { three: true }] },
    });
    expect(cells(await kubectl.ok(['get', 'certificates']))[0]).toEqual(['NAME', 'READY', 'SECRET', 'AGE']);
    expect(cells(await kubectl.ok(['get', 'gc', '--no-headers']))[0]?.slice(0, 2)).toEqual([
      'plain',
      'example.com/gateway',
    ]);
    const wrong = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'bad' },
      spec: { gatewayClassName: 'plain', listeners: [{ name: 'http', port: 70000, protocol: 'HTTP' }] },
    };
    expect(await kubectl.fails(['create', '-f', '-'], { stdin: documents(wrong) })).toContain(
      'spec.listeners[0].port in body should be less than or equal to 65535',
    );
    const beta = await kubectl.json<{ apiVersion: string; metadata: { uid: string } }>([
      'get',
      'gateways.v1beta1.gateway.networking.k8s.io',
      'front',
    ]);
    const stable = await kubectl.json<{ apiVersion: string; metadata: { uid: string } }>([
      'get',
      'gateways.v1.gateway.networking.k8s.io',
      'front',
    ]);
    expect([beta.apiVersion, stable.apiVersion, beta.metadata.uid]).toEqual([
      'gateway.networking.k8s.io/v1beta1',
      'gateway.networking.k8s.io/v1',
      stable.metadata.uid,
    ]);
  });

  test('RBAC of the first workspace holds in the first only', async () => {
    const rules = [{ nonResourceURLs: ['/'], verbs: ['access'] }];
    await kubectl.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'opener' },
      rules,
    });
    await kubectl.ok(['create', 'clusterrolebinding', 'opener', '--clusterrole=opener', '--user=user-1']);
    await kubectl.ok(['create', 'clusterrolebinding', 'boss', '--clusterrole=cluster-admin', '--user=user-1']);
    await using user = await Kubectl.create({
      server: `${cluster.url}/clusters/root:one`,
      ca: cluster.ca,
      token: testTokens['user-1'],
    });
    expect(await user.ok(['get', 'certificates', '-o', 'name'])).toBe('certificate.cert-manager.io/web\n');
    await using stranger = await Kubectl.create({
      server: `${cluster.url}/clusters/root:two`,
      ca: cluster.ca,
      token: testTokens['user-1'],
    });
    expect(await stranger.fails([...wholeServer(), 'get', '--raw', '/clusters/root:two/api/v1/namespaces'])).toContain(
      'User "user-1" cannot list resource "namespaces" in API group "" at the cluster scope',
    );
    expect(await stranger.fails([...wholeServer(), 'get', '--raw', '/clusters/root/api/v1/secrets'])).toContain(
      'orbidden',
    );
  });

  test('the second workspace has none of it: resources, documentation, objects, roles', async () => {
    expect(await kubectl.ok(['ws', ':root:two', '--short'])).toBe('root:two\n');
    const groups = new Set(definitions.map(({ spec }) => spec.group));
    expect((await served()).filter((name) => groups.has(name.slice(name.indexOf('.') + 1)))).toEqual([]);
    expect(
      (await kubectl.ok(['get', 'crd', '-o', 'name']))
        .split('\n')
        .filter((name) => definitions.some(({ metadata }) => name.endsWith(metadata.name))),
    ).toEqual([]);
    expect(await kubectl.fails(['get', 'certificates'])).toBe(
      'error: the server doesn\'t have a resource type "certificates"\n',
    );
    expect(await kubectl.fails(['explain', 'httproutes'])).toContain(
      'the server doesn\'t have a resource type "httproutes"',
    );
    const index = JSON.parse(await kubectl.ok([...wholeServer(), 'get', '--raw', '/clusters/root:two/openapi/v3'])) as {
      paths: Record<string, unknown>;
    };
    expect(Object.keys(index.paths).filter((path) => groups.has(path.split('/')[1] ?? ''))).toEqual([]);
    const discovery = await kubectl.ok([...wholeServer(), 'get', '--raw', '/clusters/root:two/apis']);
    expect([...groups].filter((group) => discovery.includes(`"${group}"`))).toEqual([]);
    expect(await kubectl.fails(['get', 'clusterrole', 'opener'])).toContain('NotFound');
    expect(await kubectl.fails(['create', '-f', '-'], { stdin: documents(objects[0] as object) })).toContain(
      'no matches for kind "ClusterIssuer" in version "cert-manager.io/v1"',
    );
  });

  test('the same names are free in the second workspace, also with another shape', async () => {
    const other = structuredClone(
      definitions.find(({ metadata }) => metadata.name === 'certificates.cert-manager.io'),
    ) as unknown as { spec: { versions: { additionalPrinterColumns?: unknown; schema: unknown }[] } };
    Object.assign(other.spec.versions[0] as object, {
      selectableFields: [],
      additionalPrinterColumns: [{ name: 'Words', type: 'string', jsonPath: '.spec.words' }],
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: { type: 'object', properties: { words: { type: 'string' } } },
            status: { type: 'object' },
          },
        },
      },
    });
    await kubectl.create(other);
    await kubectl.ok(['wait', '--for=condition=Established', 'crd/certificates.cert-manager.io', '--timeout=10s']);
    await kubectl.create({
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: { name: 'web' },
      spec: { words: 'quite different' },
    });
    expect(await kubectl.ok(['get', 'certificates', '--no-headers'])).toBe('web   quite different\n');
    expect(await kubectl.ok(['explain', 'certificates.spec'])).toMatch(/^ {2}words\t<string>/m);
    await kubectl.ok(['ws', '-']);
    expect((await kubectl.json<{ spec: unknown }>(['get', 'certificate', 'web'])).spec).toMatchObject({
      secretName: 'web-tls',
      dnsNames: ['example.com'],
    });
    expect(await kubectl.ok(['explain', 'certificates.spec'])).toMatch(/^ {2}dnsNames\t<\[\]string>/m);
  });

  test('what one deletes, the other keeps', async () => {
    await kubectl.ok(['delete', 'crd', 'certificates.cert-manager.io']);
    expect((await served()).includes('certificates.cert-manager.io')).toBe(false);
    await kubectl.ok(['ws', ':root:two']);
    expect(await kubectl.ok(['get', 'certificate', 'web', '-o', 'jsonpath={.spec.words}'])).toBe('quite different');
  });
});
