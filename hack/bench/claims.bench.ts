/*
 * Claims for the objects that others name: consumers with so many Secrets, each named by one object of the export. Figures beside
 * the name choose other numbers: consumers, secrets.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { DecodedObjects, encodeForStorage, ObjectReader } from '@multiplane/apiserver';
import type { APIBinding, APIExport } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { systemClock } from '@multiplane/component-base';
import { customResourcePrefix, MemoryStorage, objectKey, openWatchCache } from '@multiplane/storage';
import { apiExport, apiResourceSchema } from '@multiplane/testing';
import { ClaimReferences, sourceOf, type ReferenceSource } from '@multiplane/shard';
import { ServerProcess } from './api/server-process.ts';
import { atRate, get, many, post, readyWorkspaces, until } from './load.ts';
import { report } from './report.ts';
import { WatchTimes } from './watch-times.ts';

const [consumers = 1_000, secrets = 100_000] = process.argv.slice(2, 4).map(Number);
const perConsumer = secrets / consumers;
const clients = 16;
const perSecond = 100;
const timed = 2_000;
const group = 'bench.example.dev';
const apis = 'apis/apis.kcp.io/v1alpha2';
const reference = { group, resource: 'stores', path: '.spec.secretRef' };
const claims = [
  {
    resource: 'secrets',
    verbs: ['*'],
    objects: { references: [reference] },
  },
];
const store = (name: string, secret: string): KubeObject => ({
  apiVersion: `${group}/v1`,
  kind: 'Store',
  metadata: { name },
  spec: { secretRef: { name: secret } },
});

console.log(`\nClaims by reference: ${secrets} Secrets of ${consumers} consumers`);
await measureMemory();
const server = await ServerProcess.create();
try {
  await server.start();
  const transport = server.transport();
  const clusters = await setUp(transport);
  await quiet();
  await measureEvents(transport, clusters);
  transport.close();
} finally {
  await server.remove();
}

/** The index alone, over objects in a store in memory. */
async function measureMemory(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const onError = (error: unknown): never => {
    throw error;
  };
  const cache = openWatchCache({}, { storage: new MemoryStorage(), clock: systemClock, onError });
  await cache.ready;
  const bindings = customResourcePrefix('apis.kcp.io', 'apibindings');
  const bound = [{ group, resource: 'stores', schema: { name: 'v1.stores', UID: 'u', identityHash: 'identity' } }];
  const stores = customResourcePrefix(group, 'stores', 'identity');
  const identity = { creationTimestamp: '2026-01-01T00:00:00Z' };
  const put = (prefix: string, cluster: string, namespace: string, object: KubeObject): Promise<number> => {
    const { name = '' } = object.metadata;
    const key = objectKey(prefix, { cluster: cluster as LogicalClusterName, namespace, name });
    return cache.create(key, encodeForStorage({ ...object, metadata: { ...object.metadata, ...identity, uid: name } }));
  };
  let revision = 0;
  for (let consumer = 0; consumer < consumers; consumer++) {
    const cluster = `consumer-${consumer}`;
    await put(bindings, cluster, '', {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'stores' },
      spec: {
        permissionClaims: claims.map((claim) => ({ ...claim, selector: { matchAll: true }, state: 'Accepted' })),
      },
      status: { boundResources: bound, exportPermissionClaims: claims },
    });
    for (let index = 0; index < perConsumer; index++)
      revision = await put(stores, cluster, 'default', store(`store-${index}`, `credentials-of-store-${index}`));
  }
  await cache.waitFor(revision, 60_000);
  const reader = new ObjectReader({ decoded: new DecodedObjects({ maxBytes: 1024 }) });
  const before = held();
  const references = new ClaimReferences({ cache, reader });
  references.start();
  const source = sourceOf(reference, { group: '', resource: 'secrets' }, bound) as ReferenceSource;
  await references.ready([source]);
  const last = `credentials-of-store-${perConsumer - 1}`;
  if (!references.has(source, `consumer-${consumers - 1}` as LogicalClusterName, 'default', last))
    throw new Error('the index is not complete');
  const after = held();
  report({
    name: 'claims by reference: memory per claimed object',
    value: (after - before) / secrets,
    unit: 'bytes',
    target: { atMost: 200 },
    note: `${consumers} consumers, names of 23 to 25 characters; heap and buffers of the index alone`,
  });
  references.stop();
  await cache.close();
}

async function setUp(transport: RestTransport): Promise<readonly string[]> {
  const [provider = '', ...clusters] = await readyWorkspaces(transport, 'root', { count: consumers + 1, clients });
  const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await post(
    transport,
    `/clusters/${provider}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`,
    apiResourceSchema({ group, plural: 'stores', kind: 'Store', spec }),
  );
  await post(
    transport,
    `/clusters/${provider}/${apis}/apiexports`,
    apiExport('stores', [`v1.stores.${group}`], { permissionClaims: claims }),
  );
  await until(async () => {
    const { status } = await get<APIExport>(transport, `/clusters/${provider}/${apis}/apiexports/stores`);
    return status?.identityHash !== undefined;
  });
  await many(consumers, clients, (index) =>
    post(transport, `/clusters/${clusters[index]}/${apis}/apibindings`, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'stores' },
      spec: {
        reference: { export: { path: provider, name: 'stores' } },
        permissionClaims: claims.map((claim) => ({ ...claim, selector: { matchAll: true }, state: 'Accepted' })),
      },
    }),
  );
  await until(async () => {
    const { items } = await get<{ items: APIBinding[] }>(transport, `/clusters/*/${apis}/apibindings`);
    return (
      items.filter(({ metadata, status }) => metadata.name === 'stores' && status?.phase === 'Bound').length >=
      consumers
    );
  });
  await many(secrets, clients, async (index) => {
    const space = `/clusters/${clusters[index % consumers]}`;
    const number = Math.trunc(index / consumers);
    await post(transport, `${space}/api/v1/namespaces/default/secrets`, { metadata: { name: `secret-${number}` } });
    await post(
      transport,
      `${space}/apis/${group}/v1/namespaces/default/stores`,
      store(`store-${number}`, `secret-${number}`),
    );
  });
  for (const spare of ['spare-0', 'spare-1'])
    await many(consumers, clients, (index) =>
      post(transport, `/clusters/${clusters[index]}/api/v1/namespaces/default/secrets`, { metadata: { name: spare } }),
    );
  const seen = `/services/apiexport/${provider}/stores/clusters/*/api/v1/secrets`;
  await until(async () => {
    // With a selector, a page does not say how many are left.
    const { items } = await get<{ items: unknown[] }>(transport, seen);
    return items.length === secrets;
  });
  return [provider, ...clusters];
}

interface SecretEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** From the write of the object that names a Secret to the event of that Secret in the provider's watch over all consumers. */
async function measureEvents(transport: RestTransport, [provider, ...clusters]: readonly string[]): Promise<void> {
  const path = `/services/apiexport/${provider}/stores/clusters/*/api/v1/secrets`;
  const { metadata } = await get<{ metadata: { resourceVersion: string } }>(transport, `${path}?limit=1`);
  const keyOf = (cluster: string, name: string): string => `${cluster}/${name}`;
  const ends = ({ type, object }: SecretEvent): string | undefined =>
    type === 'ADDED'
      ? keyOf(object.metadata.annotations?.['kcp.io/cluster'] ?? '', object.metadata.name ?? '')
      : undefined;
  const times = new WatchTimes<SecretEvent>({ path, ends }, { transport });
  await times.open(metadata.resourceVersion);
  await atRate(timed, perSecond, async (index) => {
    const cluster = clusters[index % consumers] as string;
    const spare = `spare-${Math.trunc(index / consumers) % 2}`;
    times.begin(keyOf(cluster, spare));
    await transport.json({
      method: 'PATCH',
      path: `/clusters/${cluster}/apis/${group}/v1/namespaces/default/stores/store-0`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ spec: { secretRef: { name: spare } } }),
    });
  });
  await times.all(timed);
  const sorted = times.milliseconds.toSorted((a, b) => a - b);
  report({
    name: 'claims by reference: write of a reference to the event of the claimed object, p99',
    value: sorted[Math.ceil(sorted.length * 0.99) - 1] as number,
    unit: 'ms',
    target: { atMost: 50 },
    note: `${perSecond} writes/s, ${secrets} claimed objects of ${consumers} consumers; median ${(sorted[Math.trunc(sorted.length / 2)] as number).toFixed(1)} ms`,
  });
  times.close();
}

/** What the set-up made controllers do is over. */
async function quiet(): Promise<void> {
  for (let before = server.processorSeconds; ;) {
    await wait(2_000);
    const now = server.processorSeconds;
    if (now - before < 0.1) return;
    before = now;
  }
}
