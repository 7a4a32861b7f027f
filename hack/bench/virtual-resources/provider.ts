import type { JsonObject } from '@multiplane/apimachinery';
import type { APIBinding, APIExport, CachedResource } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { apiResourceSchema } from '@multiplane/testing';
import { get, many, post, until } from '../load.ts';

const group = 'bench.example.dev';
const kindOf = (plural: string): string => `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}`;
const spec: JsonObject = {
  type: 'object',
  properties: { step: { type: 'integer' }, filler: { type: 'string' } },
};

/** An object of `bytes` bytes in its filler. */
export const objectOf = (plural: string, name: string, bytes: number, step = 0): JsonObject => ({
  apiVersion: `${group}/v1`,
  kind: kindOf(plural),
  metadata: { name },
  spec: { step, filler: 'x'.repeat(bytes) },
});

export const objectsPath = (cluster: string, plural: string): string =>
  `/clusters/${cluster}/apis/${group}/v1/${plural}`;

/** Makes a cluster-scoped resource in a logical cluster; resolves when it is served. */
export async function createDefinition(transport: RestTransport, cluster: string, plural: string): Promise<void> {
  const kind = kindOf(plural);
  await post(transport, `/clusters/${cluster}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
  await until(async () => isServed(transport, objectsPath(cluster, plural)));
}

/**
 * Replicates resources of the provider, of which so many objects exist, and exports them as virtual resources; resolves
 * when all of them are cached and consumers can bind them.
 */
export async function publish(
  transport: RestTransport,
  provider: string,
  name: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  const resources = await Promise.all(
    Object.entries(counts).map(([plural, count]) => publishedResource(transport, provider, plural, count)),
  );
  const exports = `/clusters/${provider}/apis/apis.kcp.io/v1alpha2/apiexports`;
  await post(transport, exports, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec: { resources },
  });
  await until(async () => {
    const { status } = await get<APIExport>(transport, `${exports}/${name}`);
    const conditions = (status?.conditions ?? []) as { type: string; status: string }[];
    return conditions.some(({ type, status }) => type === 'VirtualStorageValid' && status === 'True');
  });
}

async function publishedResource(
  transport: RestTransport,
  provider: string,
  plural: string,
  count: number,
): Promise<JsonObject> {
  const cachedResources = `/clusters/${provider}/apis/cache.kcp.io/v1alpha1/cachedresources`;
  await post(transport, cachedResources, {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name: plural },
    spec: { group, version: 'v1', resource: plural },
  });
  await post(transport, `/clusters/${provider}/apis/cache.kcp.io/v1alpha1/cachedresourceendpointslices`, {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name: plural },
    spec: { cachedResource: { name: plural } },
  });
  const schema = apiResourceSchema({ group, plural, kind: kindOf(plural), scope: 'Cluster', spec });
  await post(transport, `/clusters/${provider}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`, schema);
  let identityHash = '';
  await until(async () => {
    const { status } = await get<CachedResource>(transport, `${cachedResources}/${plural}`);
    identityHash = status?.identityHash ?? '';
    return status?.phase === 'Ready' && status.resourceCounts?.cache === count && identityHash !== '';
  });
  const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: plural };
  return {
    name: plural,
    group,
    schema: schema.metadata.name as string,
    storage: { virtual: { reference, identityHash } },
  };
}

export const bindingsPath = (consumer: string): string => `/clusters/${consumer}/apis/apis.kcp.io/v1alpha2/apibindings`;

export async function bind(
  transport: RestTransport,
  consumer: string,
  provider: string,
  name: string,
): Promise<APIBinding> {
  return (await post(transport, bindingsPath(consumer), {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path: provider, name } } },
  })) as unknown as APIBinding;
}

/** Whether a path is answered with 200. */
export async function isServed(transport: RestTransport, path: string): Promise<boolean> {
  const response = await transport.open({ method: 'GET', path });
  response.resume();
  return response.statusCode === 200;
}

/** Binds an export in each logical cluster; resolves when all of them are served a resource of it. */
export async function bindAll(
  transport: RestTransport,
  clusters: readonly string[],
  provider: string,
  name: string,
  plural: string,
): Promise<void> {
  await many(clusters.length, 16, async (n) => {
    const consumer = clusters[n] as string;
    if (!(await isServed(transport, `${bindingsPath(consumer)}/${name}`)))
      await bind(transport, consumer, provider, name);
  });
  await many(clusters.length, 16, (n) =>
    until(() => isServed(transport, `${objectsPath(clusters[n] as string, plural)}?limit=1`)),
  );
}

export function update(transport: RestTransport, path: string, patch: object): Promise<unknown> {
  return transport.json({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify(patch),
  });
}
