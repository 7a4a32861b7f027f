import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { RestTransport, clientConfigOf, readKubeconfig } from '@multiplane/client';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import { Requests, type Response } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const group = 'cloud.example.com';
const patient = { timeout: 90_000, interval: 200 };
const spec: JsonObject = { type: 'object', properties: { cpus: { type: 'integer' } } };

/**
 * Virtual resources while processes between the provider and its consumers are down. The provider and the consumer `near`
 * are on shard-1, the consumer `far` is on root.
 */
describe('virtual resources of two shards', () => {
  let cluster: ShardedCluster;
  let requests: Requests;
  /** Increases with each write of the provider. */
  let cpus = 1;

  const get = async (path: string): Promise<JsonObject> => (await requests.must({ path })).json as JsonObject;
  const post = (path: string, body: object): Promise<Response> =>
    eventually(() => requests.must({ method: 'POST', path, body }), patient);
  const objects = (workspace: string, plural = 'flavors'): string =>
    `/clusters/root:${workspace}/apis/${group}/v1/${plural}`;
  const ofProvider = (api: string, name: string): string => `/clusters/root:provider/apis/${api}/${name}`;
  const cachedResource = (name: string): string => ofProvider('cache.kcp.io/v1alpha1', `cachedresources/${name}`);

  /** Publishes a resource of the provider with one object; resolves to the identity. */
  async function publish(plural: string, kind: string): Promise<string> {
    await post(ofProvider('apiextensions.k8s.io/v1', 'customresourcedefinitions'), {
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
    await post(
      ofProvider('apis.kcp.io/v1alpha1', 'apiresourceschemas'),
      apiResourceSchema({ group, plural, kind, scope: 'Cluster', spec }),
    );
    await post(objects('provider', plural), {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name: 'small' },
      spec: { cpus },
    });
    await post(ofProvider('cache.kcp.io/v1alpha1', 'cachedresources'), {
      apiVersion: 'cache.kcp.io/v1alpha1',
      kind: 'CachedResource',
      metadata: { name: plural },
      spec: { group, version: 'v1', resource: plural },
    });
    return eventually(async () => {
      const cached = await get(cachedResource(plural));
      expect(field(cached, 'status', 'phase')).toBe('Ready');
      return field(cached, 'status', 'identityHash') as string;
    }, patient);
  }

  /** Exports a published resource and binds it in both consumers' workspaces. */
  async function bind(plural: string, identityHash: string): Promise<void> {
    const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: plural };
    await post(ofProvider('apis.kcp.io/v1alpha2', 'apiexports'), {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: plural },
      spec: {
        resources: [
          { name: plural, group, schema: `v1.${plural}.${group}`, storage: { virtual: { reference, identityHash } } },
        ],
      },
    });
    for (const consumer of ['near', 'far']) {
      await post(`/clusters/root:${consumer}/apis/apis.kcp.io/v1alpha2/apibindings`, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: plural },
        spec: { reference: { export: { path: 'root:provider', name: plural } } },
      });
      await eventually(async () => expect(await read(consumer, plural)).toEqual([cpus]), patient);
    }
  }

  /** `spec.cpus` of the objects that a consumer lists. */
  async function read(consumer: string, plural = 'flavors'): Promise<unknown[]> {
    const { items } = (await get(objects(consumer, plural))) as unknown as { items: KubeObject[] };
    return items.map((item) => field(item as never, 'spec', 'cpus'));
  }

  /** A write of the provider. Returns the value that consumers read from then on. */
  async function write(): Promise<number> {
    cpus += 1;
    await requests.must({
      method: 'PATCH',
      path: `${objects('provider')}/small`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { cpus } },
    });
    return cpus;
  }

  const lastSeen = ({ events }: OpenWatch): unknown => field(events.at(-1)?.['object'] as never, 'spec', 'cpus');
  const arrives = (value: number, watches: readonly OpenWatch[]): Promise<void> =>
    eventually(async () => {
      for (const consumer of ['near', 'far']) expect(await read(consumer)).toEqual([value]);
      expect(watches.map(lastSeen)).toEqual(watches.map(() => value));
    }, patient);
  /** The condition by which a CachedResource says since when consumers read an old state. */
  async function reachability(): Promise<JsonObject | undefined> {
    const conditions = field(await get(cachedResource('flavors')), 'status', 'conditions') as JsonObject[];
    return conditions.find(({ type }) => type === 'CacheReachable');
  }
  const isReachable = (status: string): Promise<void> =>
    eventually(async () => expect((await reachability())?.['status']).toBe(status), patient);
  const watchOf = (consumer: string): Promise<OpenWatch> => requests.watch(`${objects(consumer)}?watch=true`);

  beforeAll(async () => {
    cluster = await ShardedCluster.start();
    requests = new Requests(cluster);
    const admin = cluster.transport('base');
    await createWorkspace(admin, 'root', 'provider', { shard: 'shard-1' });
    await createWorkspace(admin, 'root', 'near', { shard: 'shard-1' });
    await createWorkspace(admin, 'root', 'far', { shard: 'root' });
    admin.close();
    await bind('flavors', await publish('flavors', 'Flavor'));
  }, 300_000);
  afterAll(async () => {
    requests?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('are served with the last state while NATS is down, and their watches stay open', async () => {
    const watches = await Promise.all([watchOf('near'), watchOf('far')]);
    await arrives(cpus, watches);
    const before = cpus;
    await cluster.process('nats').kill();
    const after = await write();
    for (const consumer of ['near', 'far']) {
      const [value] = await read(consumer);
      expect([before, after]).toContain(value);
    }
    await isReachable('False');
    const counts = field(await get(cachedResource('flavors')), 'status', 'resourceCounts');
    expect(counts).toEqual({ cache: 1, local: 1 });
    await cluster.process('nats').start();
    await arrives(after, watches);
    await isReachable('True');
    expect(watches.map(({ ended }) => ended)).toEqual([false, false]);
    await arrives(await write(), watches);
    for (const watch of watches) watch.close();
  }, 240_000);

  test('are served with the last state while the cache server is down, and their watches stay open', async () => {
    const watches = await Promise.all([watchOf('near'), watchOf('far')]);
    await arrives(cpus, watches);
    const before = cpus;
    await cluster.process('cache-server').kill();
    const after = await write();
    for (const consumer of ['near', 'far']) expect(await read(consumer)).toEqual([before]);
    const killed = Date.now();
    await isReachable('False');
    const condition = await reachability();
    const since = condition?.['lastTransitionTime'] as string;
    expect(Math.abs(Date.parse(since) - killed)).toBeLessThan(30_000);
    expect(condition?.['message']).toContain(`since ${since}: consumers read the state of that time`);
    await cluster.process('cache-server').start();
    await arrives(after, watches);
    await isReachable('True');
    // Also what comes after the restart arrives, at the same watches.
    await arrives(await write(), watches);
    expect(watches.map(({ ended }) => ended)).toEqual([false, false]);
    for (const watch of watches) watch.close();
  }, 240_000);

  test('answer 503 with Retry-After on a shard whose virtual workspaces are down, and recover with them', async () => {
    await cluster.process('virtual-workspaces-root').kill();
    await eventually(async () => {
      const answer = await requests.send({ path: objects('far') });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.json['message']).toContain('root:provider:flavors');
    }, patient);
    expect(await read('near')).toEqual([cpus]);
    await requests.must({ path: '/clusters/root:far/api/v1/configmaps' });
    await requests.must({ path: '/clusters/root:far/apis/apis.kcp.io/v1alpha2/apibindings' });
    const after = await write();
    await cluster.process('virtual-workspaces-root').start();
    await arrives(after, []);
  }, 240_000);

  test("are read on other shards while the provider's shard is down", async () => {
    const watch = await watchOf('far');
    await arrives(cpus, [watch]);
    await cluster.process('shard-shard-1').kill();
    for (let round = 0; round < 5; round++) expect(await read('far')).toEqual([cpus]);
    await cluster.process('shard-shard-1').start();
    const after = await eventually(write, patient);
    await arrives(after, [watch]);
    expect(watch.ended).toBe(false);
    watch.close();
  }, 240_000);

  test('are rebuilt when the cache has lost everything, without those of a deleted CachedResource', async () => {
    const identity = await publish('images', 'Image');
    await bind('images', identity);
    await cluster.process('nats').kill();
    await rm(cluster.path('data', 'nats'), { recursive: true });
    await requests.must({ method: 'DELETE', path: cachedResource('images') });
    const after = await write();
    await cluster.process('nats').start();
    await arrives(after, []);
    await eventually(async () => {
      expect((await requests.send({ path: cachedResource('images') })).status).toBe(404);
    }, patient);
    const file = cluster.path('pki', 'cache.kubeconfig');
    const kubeconfig = readKubeconfig(file);
    const cache = new RestTransport({ config: clientConfigOf(kubeconfig, file, kubeconfig['current-context'] ?? '') });
    const path = (resource: string): string => `/services/cache/shards/*/clusters/*/apis/${group}/v1/${resource}`;
    await eventually(async () => {
      const left = await cache.json({ method: 'GET', path: path(`images:${identity}`) }).catch(() => ({ items: [] }));
      expect(field(left as never, 'items')).toEqual([]);
    }, patient);
    cache.close();
    for (const consumer of ['near', 'far'])
      await eventually(async () => {
        expect((await requests.send({ path: objects(consumer, 'images') })).status).toBeGreaterThanOrEqual(500);
      }, patient);
  }, 300_000);
});
