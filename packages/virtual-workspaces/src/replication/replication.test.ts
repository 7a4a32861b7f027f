import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { clusterAnnotation, type JsonObject, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { encodeForStorage } from '@multiplane/apiserver';
import { systemClock } from '@multiplane/component-base';
import { cacheKey, MemoryStorage, openWatchCache, type WatchCache } from '@multiplane/storage';
import { eventually, eventLoopIdle } from '@multiplane/testing';
import { FakeCacheServer } from '../../test/fake-cache-server.ts';
import { FakeShard, type OpenStream } from '../../test/fake-shard.ts';
import { bindingOf, exportOf, schemaOf } from '../../test/shared-apis.ts';

const provider = 'provider' as LogicalClusterName;
const identity = 'cafe';
const kind = { group: 'example.dev', resource: 'widgets', identity };
const origin = { [clusterAnnotation]: provider, 'kcp.io/shard': 'root' };
const base = '/services/replication/provider/widgets:id1/clusters/consumer/apis/example.dev/v1/widgets';

const ofProvider = (resource: string, spec: JsonObject, status: JsonObject = {}): KubeObject => ({
  apiVersion: 'cache.kcp.io/v1alpha1',
  kind: resource,
  metadata: { name: 'widgets', annotations: origin },
  spec,
  status,
});
const namespace = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, annotations: { [clusterAnnotation]: 'consumer' } },
});
const widget = (name: string, resourceVersion?: string): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    creationTimestamp: '2026-11-22T10:00:00Z',
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    annotations: origin,
  },
});

let shard: FakeShard;
let storage: MemoryStorage;
let cache: WatchCache;

beforeEach(async () => {
  shard = new FakeShard();
  storage = new MemoryStorage();
  cache = openWatchCache({ prefix: '/cache/' }, { storage, clock: systemClock, onError: () => {} });
  await cache.ready;
  const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: 'widgets' };
  const storedIn = { virtual: { reference, identityHash: identity } };
  const exported = { name: 'widgets', group: 'example.dev', schema: 'v1.widgets.example.dev', storage: storedIn };
  shard.informer({ resource: 'apiexports' }).put(exportOf({ resources: [exported] }));
  shard.informer({ resource: 'apiresourceschemas' }).put(schemaOf());
  shard.informer({ resource: 'apibindings' }).put(bindingOf());
  const spec = { group: 'example.dev', version: 'v1', resource: 'widgets' };
  shard.informer({ resource: 'cachedresources' }).put(ofProvider('CachedResource', spec, { identityHash: identity }));
  shard
    .informer({ resource: 'cachedresourceendpointslices' })
    .put(ofProvider('CachedResourceEndpointSlice', { cachedResource: { name: 'widgets' } }));
  shard.informer({ resource: 'namespaces' }).put(namespace('default'));
});
afterEach(async () => {
  await shard.close();
  await cache.close();
});

async function put(name: string): Promise<number> {
  const key = cacheKey(kind, { shard: 'root', cluster: provider, namespace: 'default', name });
  const revision = await storage.create(key, encodeForStorage(widget(name)));
  await cache.waitFor(revision, 1_000);
  return revision;
}
async function list(query = ''): Promise<{ readonly status: number; readonly names: readonly string[] }> {
  const { status, body } = await shard.send(`${base}${query}`);
  const { items = [] } = JSON.parse(body.toString()) as { items?: KubeObject[] };
  return { status, names: items.map(({ metadata }) => metadata.name ?? '') };
}
/** Types and names of the events of a watch; of an error its code. */
const eventsOf = ({ events }: OpenStream): string[] =>
  events.map(({ type, object }) => {
    const { metadata, code } = object as unknown as KubeObject & { readonly code?: number };
    return `${type} ${code ?? metadata.name ?? metadata.resourceVersion}`;
  });

describe('virtual resources', () => {
  test('are read from the cache server in the same process', async () => {
    shard.cachedObjects = cache;
    await put('a');
    expect(await list()).toEqual({ status: 200, names: ['a'] });
  });

  test('are read from the cache server in another process by a shard that reads from it', async () => {
    const server = new FakeCacheServer();
    server.pages = [{ metadata: { resourceVersion: '7' }, items: [widget('a', '7') as unknown as JsonObject] }];
    shard.cacheServer = server.transport;
    expect(await list()).toEqual({ status: 200, names: ['a'] });
    expect(server.requests[0]).toContain('/services/cache/shards/*/clusters/*/apis/example.dev/v1/widgets:cafe?');
  });

  test('are watched until the identity of their CachedResource changes; updates elsewhere are not looked at', async () => {
    shard.cachedObjects = cache;
    await put('a');
    const watch = shard.open(`${base}?watch=true`);
    await eventually(() => expect(eventsOf(watch)).toEqual(['ADDED a']));
    const slices = shard.informer({ resource: 'cachedresourceendpointslices' });
    const read = slices.get.bind(slices);
    let reads = 0;
    slices.get = (reference) => {
      reads += 1;
      return read(reference);
    };
    const resources = shard.informer({ resource: 'cachedresources' });
    const elsewhere = {
      ...ofProvider('CachedResource', {}),
      metadata: { name: 'widgets', annotations: { [clusterAnnotation]: 'other' } },
    };
    resources.put(elsewhere);
    reads = 0;
    for (let local = 0; local < 5; local++)
      resources.put({ ...elsewhere, status: { resourceCounts: { local, cache: local } } });
    expect([reads, watch.ended]).toEqual([0, false]);
    const spec = { group: 'example.dev', version: 'v1', resource: 'widgets' };
    resources.put(ofProvider('CachedResource', spec, { identityHash: 'other' }));
    await watch.handled;
    expect(watch.ended).toBe(true);
  });

  test('are refused with a text for consumers while their provider has not set them up', async () => {
    shard.cachedObjects = cache;
    await put('a');
    const refusal = async (): Promise<unknown> => {
      const { status, body, headers } = await shard.send(base);
      return [status, headers.get('retry-after'), (JSON.parse(body.toString()) as JsonObject)['message']];
    };
    const subject = 'the virtual resource widgets.example.dev of APIExport provider:things is not available';
    const resources = shard.informer({ resource: 'cachedresources' });
    const spec = { group: 'example.dev', version: 'v1', resource: 'widgets' };
    const asks = expect.stringContaining(
      `${subject}: its provider has not set it up correctly; please contact the owner`,
    );
    resources.put(ofProvider('CachedResource', spec, { identityHash: 'other' }));
    expect(await refusal()).toEqual([503, undefined, asks]);
    resources.put(ofProvider('CachedResource', spec));
    expect(await refusal()).toEqual([503, '1', `${subject} yet`]);
    const conditions = [{ type: 'IdentityValid', status: 'False' }];
    resources.put(ofProvider('CachedResource', spec, { conditions }));
    expect(await refusal()).toEqual([503, undefined, asks]);
    resources.put(ofProvider('CachedResource', spec, { identityHash: identity }));
    shard.informer({ resource: 'apiresourceschemas' }).remove(schemaOf());
    expect(await refusal()).toEqual([503, undefined, asks]);
  });

  test('are refused without a reason, which the audit log has', async () => {
    const refusal = async (path: string, method = 'GET'): Promise<unknown> => {
      const { status, body } = await shard.send(`/services/replication/${path}`, { method });
      return [status, (JSON.parse(body.toString()) as JsonObject)['message']];
    };
    const reason = 'virtual.replication.content.authorization.kcp.io: access denied';
    expect(await refusal('provider/nosuch/clusters/consumer/api')).toEqual([
      403,
      `forbidden: User "ann" cannot get path "/api": ${reason}`,
    ]);
    expect(await refusal('provider/widgets:id1/clusters/consumer/api', 'POST')).toEqual([
      403,
      `forbidden: User "ann" cannot post path "/api": ${reason}`,
    ]);
  });

  test('are listed when the namespaces of the consumer are known', async () => {
    shard.cachedObjects = cache;
    await put('a');
    const known = Promise.withResolvers<void>();
    const namespaces = shard.informer({ resource: 'namespaces' });
    namespaces.remove(namespace('default'));
    namespaces.synced = known.promise;
    let listed: Awaited<ReturnType<typeof list>> | undefined;
    void list().then((result) => (listed = result));
    await eventLoopIdle();
    expect(listed).toBeUndefined();
    namespaces.put(namespace('default'));
    known.resolve();
    await eventually(async () => expect(listed).toEqual({ status: 200, names: ['a'] }));
  });
});

describe('a watch of a virtual resource', () => {
  beforeEach(() => {
    shard.cachedObjects = cache;
  });

  test('begins with the present objects and a bookmark', async () => {
    const revision = await put('a');
    const watch = shard.open(
      `${base}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await eventually(async () => expect(eventsOf(watch)).toEqual(['ADDED a', `BOOKMARK ${revision}`]));
    expect(watch.events[1]?.object).toMatchObject({
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    });
    await put('b');
    await eventually(async () => expect(eventsOf(watch).slice(2)).toEqual(['ADDED b']));
  });

  test('resumes after a revision, and gets 410 where the history is gone', async () => {
    const first = await put('a');
    await put('b');
    const watch = shard.open(`${base}?watch=true&resourceVersion=${first}`);
    await eventually(async () => expect(eventsOf(watch)).toEqual(['ADDED b']));
    await cache.compact(cache.revision);
    const late = shard.open(`${base}?watch=true&resourceVersion=${first}`);
    await eventually(async () => expect(eventsOf(late)).toEqual(['ERROR 410']));
    expect(late.ended).toBe(true);
    expect((await list()).names).toEqual(['a', 'b']);
  });

  test('ends when the consumer does not bind the export any more', async () => {
    await put('a');
    const watch = shard.open(`${base}?watch=true&resourceVersion=0`);
    await eventually(async () => expect(watch.started).toBe(true));
    shard.informer({ resource: 'apibindings' }).remove(bindingOf());
    await watch.handled;
    expect(watch.ended).toBe(true);
  });
});
