import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, type KubeObject, type StatusError } from '@multiplane/apimachinery';
import { embedCacheServer } from '@multiplane/cache-server';
import { apiResourceSchema, eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';
import { embedVirtualWorkspaces } from '@multiplane/virtual-workspaces';

/** The feature gate CacheAPIs over the restarts of one shard. */
const group = 'cloud.example.com';
const patient = { timeout: 30_000 };
const cachedResources = 'root:provider/apis/cache.kcp.io/v1alpha1/cachedresources';
const exports = 'root:provider/apis/apis.kcp.io/v1alpha2/apiexports';
const flavors = (workspace: string): string => `root:${workspace}/apis/${group}/v1/flavors`;

let folder: TempDir;
let shard: InProcessShard;
beforeAll(async () => {
  folder = await TempDir.create('cache-apis');
  await restart('CacheAPIs=true');
}, 120_000);
afterAll(async () => {
  await shard?.stop();
  await folder?.remove();
});

async function restart(gates: string): Promise<void> {
  await shard?.stop();
  const cacheApis = gates.endsWith('true');
  shard = await InProcessShard.start(['--storage-backend=file', `--feature-gates=${gates}`], folder, [
    embedCacheServer({ version: 'test', storage: 'file' }),
    embedVirtualWorkspaces({ version: 'test', cacheApis }),
  ]);
}
const get = async (path: string): Promise<KubeObject & { readonly items?: readonly KubeObject[] }> =>
  (await shard.transport.json({ method: 'GET', path: `/clusters/${path}` })) as never;
const post = (kind: string, path: string, object: object): Promise<unknown> => {
  const apiVersion = path.split('/').slice(2, 4).join('/');
  const body = JSON.stringify({ apiVersion, kind, ...object });
  return shard.transport.json({ method: 'POST', path: `/clusters/${path}`, body });
};
const creates = (kind: string, path: string, object: object): Promise<unknown> =>
  eventually(() => post(kind, path, object), patient);
const refusal = async (request: Promise<unknown>): Promise<StatusError> => {
  const error: unknown = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isStatusError(error)) throw new Error('the request was not refused', { cause: error });
  return error;
};
const exported = (name: string, identityHash: string): object => ({
  metadata: { name },
  spec: {
    resources: [
      {
        group,
        name: 'flavors',
        schema: `v1.flavors.${group}`,
        storage: {
          virtual: {
            reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'flavors' },
            identityHash,
          },
        },
      },
    ],
  },
});
/** The objects that the consumer reads, once there are any. */
const read = (): Promise<readonly (string | undefined)[]> =>
  eventually(async () => {
    const { items = [] } = await get(flavors('consumer'));
    expect(items).not.toEqual([]);
    return items.map(({ metadata }) => metadata.name);
  }, patient);

test('on, a CachedResource and an export of it are all that consumers need', async () => {
  for (const name of ['provider', 'consumer'])
    await creates('Workspace', 'root/apis/tenancy.kcp.io/v1alpha1/workspaces', { metadata: { name } });
  const schema = apiResourceSchema({
    group,
    plural: 'flavors',
    kind: 'Flavor',
    scope: 'Cluster',
    spec: { type: 'object' },
  });
  await creates('APIResourceSchema', 'root:provider/apis/apis.kcp.io/v1alpha1/apiresourceschemas', schema);
  const names = { plural: 'flavors', singular: 'flavor', kind: 'Flavor', listKind: 'FlavorList' };
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
  await creates('CustomResourceDefinition', 'root:provider/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `flavors.${group}` },
    spec: { group, scope: 'Cluster', names, versions },
  });
  await creates('Flavor', flavors('provider'), { metadata: { name: 'small' } });
  const spec = { group, version: 'v1', resource: 'flavors' };
  await creates('CachedResource', cachedResources, { metadata: { name: 'flavors' }, spec });
  const identityHash = await eventually(async () => {
    const { identityHash: hash } = (await get(`${cachedResources}/flavors`))['status'] as { identityHash?: string };
    expect(hash).toBeDefined();
    return hash ?? '';
  }, patient);
  await creates('APIExport', exports, exported('flavors', identityHash));
  await creates('APIBinding', 'root:consumer/apis/apis.kcp.io/v1alpha2/apibindings', {
    metadata: { name: 'flavors' },
    spec: { reference: { export: { path: 'root:provider', name: 'flavors' } } },
  });
  expect(await read()).toEqual(['small']);
}, 120_000);

test('off, by either name, nothing of it is served', async () => {
  await restart('CachedAPIs=false');
  expect((await refusal(get(cachedResources))).code).toBe(404);
  const { groups } = (await get('root:provider/apis')) as unknown as { groups: { name: string }[] };
  expect(groups.map(({ name }) => name)).not.toContain('cache.kcp.io');
  const unserved = await refusal(get(flavors('consumer')));
  expect([unserved.code, unserved.details?.retryAfterSeconds]).toEqual([503, undefined]);
  expect((await refusal(get(`root:consumer/apis/${group}/v1`))).code).toBe(404);
  await eventually(async () => {
    const { conditions } = (await get(`${exports}/flavors`))['status'] as { conditions: object[] };
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: 'VirtualStorageValid', status: 'False', reason: 'FeatureDisabled' }),
    );
  }, patient);
  const refused = await refusal(post('APIExport', exports, exported('more', 'x')));
  expect([refused.code, refused.message]).toEqual([403, expect.stringContaining('the feature gate CacheAPIs is off')]);
}, 120_000);

test('on again, consumers read as before', async () => {
  await restart('CacheAPIs=true');
  expect(await read()).toEqual(['small']);
}, 120_000);
