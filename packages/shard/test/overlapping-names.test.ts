import { expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, type APIBinding } from '@multiplane/apis';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const crds: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const names = (plural: string): JsonObject => ({
  plural,
  singular: plural,
  kind: plural.toUpperCase(),
  listKind: `${plural.toUpperCase()}List`,
});
const version = (schema: JsonObject): JsonObject => ({ name: 'v1', served: true, storage: true, schema });
const shape: JsonObject = { type: 'object' };

test('with CRDNoOverlappingGVR, the first of CRD and APIBinding gets the resource name', async () => {
  await using shard = await InProcessShard.start([
    '--storage-backend=memory',
    '--enable-admission-plugins=apis.kcp.io/CRDNoOverlappingGVR',
  ]);
  const { client } = shard;
  const define = (plural: string): Promise<unknown> =>
    client.create(crds, root, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.example.dev` },
      spec: {
        group: 'example.dev',
        scope: 'Cluster',
        names: names(plural),
        versions: [version({ openAPIV3Schema: shape })],
      },
    });
  for (const plural of ['hats', 'caps'])
    await client.create(apiResourceSchemas, root, {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name: `v1.${plural}.example.dev` },
      spec: { group: 'example.dev', scope: 'Cluster', names: names(plural), versions: [version(shape)] },
    });
  const offer = async (plural: string): Promise<void> => {
    await client.create(apiExports, root, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: plural },
      spec: { resources: [{ name: plural, group: 'example.dev', schema: `v1.${plural}.example.dev` }] },
    });
    await client.create(apiBindings, root, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: plural },
      spec: { reference: { export: { name: plural } } },
    });
  };
  const bindingOf = (name: string): Promise<APIBinding> =>
    client.get(apiBindings, { cluster: root, namespace: '', name });

  await offer('hats');
  await eventually(async () => expect((await bindingOf('hats')).status?.phase).toBe('Bound'));
  await expect(define('hats')).rejects.toThrow('cannot create because resource is bound by APIBinding "hats"');

  await define('caps');
  await offer('caps');
  await eventually(async () => {
    const { status } = await bindingOf('caps');
    expect(status?.phase).not.toBe('Bound');
    expect(status?.conditions?.find(({ type }) => type === 'InitialBindingCompleted')).toMatchObject({
      reason: 'NamingConflicts',
    });
  });
}, 120_000);
