import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { bind, endpointsOf, foundBehind, identityOf, letEverybodyBind, placesOf } from '../harness/api-export.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { cells, describeWithKubectl } from '../harness/kubectl.ts';
import { createTenant, type Tenant } from '../harness/tenants.ts';

/*
 * APIs that people really use, gateway-api and cert-manager: their definitions become schemas, two exports offer them, and
 * three workspaces use them.
 */

const folder = join(import.meta.dirname, '..', 'fixtures', 'crds');
const patient = { timeout: 60_000 };
const isSharded = topologyName === 'sharded';
const shards = isSharded ? ['root', 'shard-1'] : [undefined];

interface Definition {
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } };
}
const definitionsOf = (group: RegExp): Definition[] =>
  readdirSync(folder)
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Definition)
    .filter(({ spec }) => group.test(spec.group));
const offered = {
  'gateway-api': definitionsOf(/^gateway\.networking\.k8s\.io$/),
  'cert-manager': definitionsOf(/cert-manager\.io$/),
};

const gateway = (listener: object): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'front' },
  spec: { gatewayClassName: 'nginx', listeners: [{ name: 'http', port: 80, protocol: 'HTTP', ...listener }] },
});
const certificate = {
  apiVersion: 'cert-manager.io/v1',
  kind: 'Certificate',
  metadata: { name: 'site' },
  spec: {
    secretName: 'site-tls',
    dnsNames: ['example.com'],
    issuerRef: { name: 'letsencrypt', kind: 'ClusterIssuer' },
  },
};

describeWithKubectl('gateway-api and cert-manager, offered by one and used by three', () => {
  let control: ControlPlane;
  let provider: Tenant;
  let consumers: readonly Tenant[];

  beforeAll(async () => {
    control = await startControlPlane();
    provider = await createTenant(control, 'platform', { user: 'user-1', shard: shards[0] });
    consumers = await Promise.all(
      [0, 1, 2].map((index) =>
        createTenant(control, `team-${index}`, { user: 'user-2', shard: shards[index % shards.length] }),
      ),
    );
  }, 240_000);

  afterAll(async () => {
    for (const tenant of [provider, ...(consumers ?? [])]) await tenant?.[Symbol.asyncDispose]();
    await control?.[Symbol.asyncDispose]();
  });

  test('their definitions become schemas, and the schemas exports', async () => {
    const { kubectl } = provider;
    for (const [name, definitions] of Object.entries(offered)) {
      expect(definitions.length).toBeGreaterThanOrEqual(6);
      const schemas = await kubectl.ok(['kcp', 'crd', 'snapshot', '-f', '-', '--prefix', 'v1'], {
        stdin: definitions.map((definition) => JSON.stringify(definition)).join('\n---\n'),
      });
      await kubectl.ok(['create', '-f', '-'], { stdin: schemas });
      await kubectl.apply({
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIExport',
        metadata: { name },
        spec: {
          resources: definitions.map(({ spec: { group, names } }) => ({
            group,
            name: names.plural,
            schema: `v1.${names.plural}.${group}`,
          })),
        },
      });
      await letEverybodyBind(kubectl, name);
      await identityOf(kubectl, name);
    }
  }, 120_000);

  test('three workspaces bind them, and kubectl knows every kind', async () => {
    for (const { kubectl } of consumers) {
      for (const name of Object.keys(offered)) await bind(kubectl, `root:platform:${name}`, '--timeout', '60s');
      await eventually(async () => {
        const known = (await kubectl.ok(['api-resources', '-o', 'name', '--cached=false'])).split('\n');
        const expected = Object.values(offered)
          .flat()
          .map(({ spec: { group, names } }) => `${names.plural}.${group}`);
        expect(known).toEqual(expect.arrayContaining(expected));
      }, patient);
    }
  }, 240_000);

  test('they are used in all three, with their defaults, rules, columns and short names', async () => {
    for (const [index, { kubectl }] of consumers.entries()) {
      await kubectl.apply(gateway({ hostname: `team-${index}.example.com` }), certificate, {
        apiVersion: 'cert-manager.io/v1',
        kind: 'ClusterIssuer',
        metadata: { name: 'letsencrypt' },
        spec: { selfSigned: {} },
      });
      expect(
        await kubectl.ok([
          'get',
          'gateway',
          'front',
          '-o',
          'jsonpath={.spec.listeners[0].allowedRoutes.namespaces.from}',
        ]),
      ).toBe('Same');
      expect(cells(await kubectl.ok(['get', 'gtw']))[0]).toEqual(['NAME', 'CLASS', 'ADDRESS', 'PROGRAMMED', 'AGE']);
      expect(cells(await kubectl.ok(['get', 'cert', '-o', 'wide']))[1]?.slice(0, 3)).toEqual([
        'site',
        'site-tls',
        'letsencrypt',
      ]);
      expect(await kubectl.fails(['apply', '-f', '-'], { stdin: JSON.stringify(gateway({ tls: {} })) })).toContain(
        "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
      );
      expect(await kubectl.ok(['explain', 'certificate.spec.issuerRef'])).toContain('FIELD: issuerRef <Object>');
    }
  }, 180_000);

  test('a gateway is the same one in both of its versions', async () => {
    const [{ kubectl }] = consumers as [Tenant];
    expect(
      await kubectl.ok([
        'get',
        'gateways.v1beta1.gateway.networking.k8s.io',
        'front',
        '-o',
        'jsonpath={.apiVersion} {.spec.gatewayClassName}',
      ]),
    ).toBe('gateway.networking.k8s.io/v1beta1 nginx');
  }, 120_000);

  test('managers of the same gateway keep to their own listeners', async () => {
    const [{ kubectl }] = consumers as [Tenant];
    const apply = (manager: string, port: number): Promise<string> =>
      kubectl.ok(['apply', '--server-side', `--field-manager=${manager}`, '-f', '-'], {
        stdin: JSON.stringify({
          ...gateway({}),
          metadata: { name: 'shared' },
          spec: { gatewayClassName: 'nginx', listeners: [{ name: manager, port, protocol: 'HTTP' }] },
        }),
      });
    await apply('one', 81);
    await apply('two', 82);
    expect(await kubectl.ok(['get', 'gateway', 'shared', '-o', 'jsonpath={.spec.listeners[*].name}'])).toBe('one two');
  }, 120_000);

  test('their providers find them, and report in their status', async () => {
    const endpoints = await endpointsOf(provider.kubectl, 'gateway-api', shards.length);
    await eventually(
      async () =>
        expect(placesOf(await foundBehind(provider.kubectl, endpoints, 'gateways.gateway.networking.k8s.io'))).toEqual(
          [...consumers.map(({ cluster }) => `${cluster}/front`), `${consumers[0]?.cluster}/shared`].sort(),
        ),
      patient,
    );
    const [consumer] = consumers as [Tenant];
    const status = {
      conditions: [
        { type: 'Programmed', status: 'True', reason: 'Done', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    };
    for (const url of endpoints) {
      const { code } = await provider.kubectl.run([
        'patch',
        'gateway',
        'front',
        '--server',
        `${url}/clusters/${consumer.cluster}`,
        '--subresource=status',
        '--type=merge',
        '--patch',
        JSON.stringify({ status }),
      ]);
      // Only the endpoint of the consumer's shard knows it.
      if (code === 0) break;
    }
    expect(cells(await consumer.kubectl.ok(['get', 'gateway', 'front']))[1]?.slice(0, 3)).toEqual([
      'front',
      'nginx',
      'True',
    ]);
  }, 120_000);
});
