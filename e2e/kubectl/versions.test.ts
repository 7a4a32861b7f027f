import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { GaugeConverter } from '../harness/gauge-converter.ts';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { webhooksHere } from '../harness/webhook-server.ts';
import { createWorkspace } from '../harness/workspaces.ts';

const version = (name: string, field: string, storage: boolean, more: object = {}): object => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { [field]: { type: 'integer' } } } },
    },
  },
  additionalPrinterColumns: [{ name: field, type: 'integer', jsonPath: `.spec.${field}` }],
  ...more,
});

describeWithKubectl('kubectl on a kind of several versions', () => {
  let cluster: ControlPlane;
  let converter: GaugeConverter;
  let kubectl: Kubectl;
  const crd = 'crd/gauges.versions.example.com';

  beforeAll(async () => {
    cluster = await startControlPlane({ flags: webhooksHere });
    converter = await GaugeConverter.start();
    const transport = cluster.transport('shard-base');
    const path = await createWorkspace(transport, 'root', 'versions');
    transport.close();
    const server = `${cluster.url}/clusters/${path}`;
    kubectl = await Kubectl.create({ server, ca: cluster.ca, token: testTokens.masters, namespace: 'default' });
  }, 180_000);
  afterAll(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await converter?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const patch = (spec: object): Promise<string> =>
    kubectl.ok(['patch', crd, '--type=merge', '-p', JSON.stringify({ spec })]);
  const conversion = (clientConfig: object): object => ({
    conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
  });
  const gauge = (name: string, celsius: number): object => ({
    apiVersion: 'versions.example.com/v1',
    kind: 'Gauge',
    metadata: { name },
    spec: { celsius },
  });

  test('a definition is served once the authorities of its webhook can be read', async () => {
    await kubectl.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'gauges.versions.example.com' },
      spec: {
        group: 'versions.example.com',
        scope: 'Namespaced',
        names: { plural: 'gauges', kind: 'Gauge' },
        versions: [version('v1', 'celsius', true), version('v2', 'kelvin', false)],
        ...conversion({ ...converter.clientConfig, caBundle: Buffer.from('nonsense').toString('base64') }),
      },
    });
    await kubectl.ok([
      'wait',
      crd,
      '--for=jsonpath={.status.conditions[?(@.type=="Established")].reason}=InvalidCABundle',
      '--timeout=10s',
    ]);
    await patch(conversion(converter.clientConfig));
    await kubectl.ok(['wait', crd, '--for=condition=Established', '--timeout=10s']);
    const broken = JSON.stringify({ spec: conversion({ ...converter.clientConfig, caBundle: 'bm9uc2Vuc2U=' }) });
    expect(await kubectl.fails(['patch', crd, '--type=merge', '-p', broken])).toContain(
      'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm9uc2Vuc2U=": unable to load root certificates: unable to parse bytes as PEM block',
    );
  });

  test('what is stored in one version is shown in the other, a list in one call', async () => {
    await kubectl.apply(gauge('a', 20), gauge('b', 30));
    converter.batches.length = 0;
    // The newest version is the preferred one: it is what kubectl asks for.
    expect((await kubectl.ok(['get', 'gauges'])).split('\n').map((line) => line.trim().split(/\s+/))).toEqual([
      ['NAME', 'KELVIN'],
      ['a', '293'],
      ['b', '303'],
      [''],
    ]);
    expect(converter.batches).toEqual([['a', 'b']]);
    expect(await kubectl.ok(['get', 'gauges.v1.versions.example.com', 'a', '-o', 'jsonpath={.spec}'])).toBe(
      '{"celsius":20}',
    );
    expect(converter.batches).toHaveLength(1);
  });

  test('what is written in one version is read in the other', async () => {
    await kubectl.ok(['patch', 'gauges.v2.versions.example.com', 'a', '--type=merge', '-p', '{"spec":{"kelvin":300}}']);
    expect(await kubectl.ok(['get', 'gauges.v1.versions.example.com', 'a', '-o', 'jsonpath={.spec}'])).toBe(
      '{"celsius":27}',
    );
  });

  test('a watch shows converted objects', async () => {
    await using watch = kubectl.start(['get', 'gauges', '-w', '-o', 'jsonpath={.metadata.name}={.spec.kelvin} ']);
    await watch.prints('b=303');
    await kubectl.apply(gauge('b', 100));
    await watch.prints('b=373');
    expect(watch.stdout).toContain('a=300 ');
  });

  test('the storage version changes: old objects are still read, and rewritten on their next write', async () => {
    await patch({ versions: [version('v1', 'celsius', false, { deprecated: true }), version('v2', 'kelvin', true)] });
    expect(await kubectl.ok(['get', crd, '-o', 'jsonpath={.status.storedVersions}'])).toBe('["v1","v2"]');
    expect(await kubectl.ok(['get', 'gauge', 'a', '-o', 'jsonpath={.spec}'])).toBe('{"kelvin":300}');
    await kubectl.ok(['label', 'gauge', 'a', 'moved=yes']);
    converter.batches.length = 0;
    expect(await kubectl.ok(['get', 'gauge', 'a', '-o', 'jsonpath={.spec}'])).toBe('{"kelvin":300}');
    expect(converter.batches).toEqual([]);
    const { stderr } = await kubectl.run(['get', 'gauges.v1.versions.example.com', 'a']);
    expect(stderr).toContain('Warning: versions.example.com/v1 Gauge is deprecated; use versions.example.com/v2 Gauge');
    // A version that objects may still be stored in cannot go.
    const gone = JSON.stringify({ spec: { versions: [version('v2', 'kelvin', true)] } });
    expect(await kubectl.fails(['patch', crd, '--type=merge', '-p', gone])).toContain(
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions',
    );
  });

  test('a webhook that refuses is quoted, and what needs no conversion goes on', async () => {
    await kubectl.apply({ ...gauge('c', 1), apiVersion: 'versions.example.com/v2', spec: { kelvin: 1 } });
    converter.refusal = 'too cold';
    expect(await kubectl.fails(['get', 'gauges.v1.versions.example.com', 'c'])).toContain(
      'conversion webhook for versions.example.com/v2, Kind=Gauge failed: too cold',
    );
    expect(await kubectl.ok(['get', 'gauges.v2.versions.example.com', 'c', '-o', 'jsonpath={.spec}'])).toBe(
      '{"kelvin":1}',
    );
    converter.refusal = undefined;
  });

  test('addresses that are not public and not allowed are not called', async () => {
    await patch(conversion({ url: 'https://169.254.169.254/latest', caBundle: converter.clientConfig.caBundle }));
    expect(await kubectl.fails(['get', 'gauges.v1.versions.example.com', 'c'])).toContain(
      'failed: Post "https://169.254.169.254/latest?timeout=30s": dial tcp: the addresses of 169.254.169.254 are not open to webhooks; an administrator of the installation can open them by --webhook-allowed-networks',
    );
  });
});
