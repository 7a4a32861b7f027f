import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { RestTransport, clientConfigOf, readKubeconfig } from '@multiplane/client';
import { eventually, freezeProcess } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';
import { cachedResource, objects, PublishedFlavors } from '../harness/published-flavors.ts';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace, field } from '../harness/workspaces.ts';

const group = 'cloud.example.com';
const patient = { timeout: 90_000, interval: 200 };

/**
 * Virtual resources while processes between the provider and its consumers are down. The provider and the consumer `near`
 * are on shard-1, the consumer `far` is on root.
 */
describe('virtual resources of two shards', () => {
  let cluster: ShardedCluster;
  let requests: Requests;
  let flavors: PublishedFlavors;

  beforeAll(async () => {
    cluster = await ShardedCluster.start();
    requests = new Requests(cluster);
    flavors = new PublishedFlavors({ consumers: ['near', 'far'] }, { requests });
    const admin = cluster.transport('base');
    await createWorkspace(admin, 'root', 'provider', { shard: 'shard-1' });
    await createWorkspace(admin, 'root', 'near', { shard: 'shard-1' });
    await createWorkspace(admin, 'root', 'far', { shard: 'root' });
    admin.close();
    await flavors.bind('flavors', await flavors.publish('flavors', 'Flavor'));
  }, 300_000);
  afterAll(async () => {
    requests?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('are served with the last state while NATS is down, and their watches stay open', async () => {
    const watches = await Promise.all([flavors.watchOf('near'), flavors.watchOf('far')]);
    await flavors.arrives(flavors.cpus, watches);
    const before = flavors.cpus;
    await cluster.process('nats').kill();
    const after = await flavors.write();
    for (const consumer of ['near', 'far']) {
      const [value] = await flavors.read(consumer);
      expect([before, after]).toContain(value);
    }
    await flavors.isReachable('False');
    const counts = field(await flavors.get(cachedResource('flavors')), 'status', 'resourceCounts');
    expect(counts).toEqual({ cache: 1, local: 1 });
    await cluster.process('nats').start();
    await flavors.arrives(after, watches);
    await flavors.isReachable('True');
    expect(watches.map(({ ended }) => ended)).toEqual([false, false]);
    await flavors.arrives(await flavors.write(), watches);
    for (const watch of watches) watch.close();
  }, 240_000);

  test('are served with the last state while the cache server is down, and their watches stay open', async () => {
    const watches = await Promise.all([flavors.watchOf('near'), flavors.watchOf('far')]);
    await flavors.arrives(flavors.cpus, watches);
    const before = flavors.cpus;
    await cluster.process('cache-server').kill();
    const after = await flavors.write();
    for (const consumer of ['near', 'far']) expect(await flavors.read(consumer)).toEqual([before]);
    const killed = Date.now();
    await flavors.isReachable('False');
    const condition = await flavors.reachability();
    const since = condition?.['lastTransitionTime'] as string;
    expect(Math.abs(Date.parse(since) - killed)).toBeLessThan(30_000);
    expect(condition?.['message']).toContain(`since ${since}: consumers read the state of that time`);
    await cluster.process('cache-server').start();
    await flavors.arrives(after, watches);
    await flavors.isReachable('True');
    // Also what comes after the restart arrives, at the same watches.
    await flavors.arrives(await flavors.write(), watches);
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
    expect(await flavors.read('near')).toEqual([flavors.cpus]);
    await requests.must({ path: '/clusters/root:far/api/v1/configmaps' });
    await requests.must({ path: '/clusters/root:far/apis/apis.kcp.io/v1alpha2/apibindings' });
    const after = await flavors.write();
    await cluster.process('virtual-workspaces-root').start();
    await flavors.arrives(after, []);
  }, 240_000);

  test('answer 503 or 504 while the virtual workspaces of the shard are frozen, and recover with them', async () => {
    const pid = cluster.process('virtual-workspaces-root').pid as number;
    await freezeProcess(pid);
    try {
      await eventually(async () => {
        expect([503, 504]).toContain((await requests.send({ path: objects('far') })).status);
      }, patient);
      expect(await flavors.read('near')).toEqual([flavors.cpus]);
      await requests.must({ path: '/clusters/root:far/api/v1/configmaps' });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await flavors.arrives(await flavors.write(), []);
  }, 240_000);

  test("are read on other shards while the provider's shard is down", async () => {
    const watch = await flavors.watchOf('far');
    await flavors.arrives(flavors.cpus, [watch]);
    await cluster.process('shard-shard-1').kill();
    for (let round = 0; round < 5; round++) expect(await flavors.read('far')).toEqual([flavors.cpus]);
    await cluster.process('shard-shard-1').start();
    const after = await eventually(() => flavors.write(), patient);
    await flavors.arrives(after, [watch]);
    expect(watch.ended).toBe(false);
    watch.close();
  }, 240_000);

  test('are rebuilt when the cache has lost everything, without those of a deleted CachedResource', async () => {
    const identity = await flavors.publish('images', 'Image');
    await flavors.bind('images', identity);
    await cluster.process('nats').kill();
    await rm(cluster.path('data', 'nats'), { recursive: true });
    await requests.must({ method: 'DELETE', path: cachedResource('images') });
    const after = await flavors.write();
    await cluster.process('nats').start();
    await flavors.arrives(after, []);
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

/** Everything in one process, which is killed; its cache is a folder beside its objects. */
describe('virtual resources of a single process', () => {
  let cluster: LocalCluster;
  let requests: Requests;
  let flavors: PublishedFlavors;

  beforeAll(async () => {
    cluster = await LocalCluster.start();
    requests = new Requests(cluster);
    flavors = new PublishedFlavors({ consumers: ['near', 'far'] }, { requests });
    const admin = cluster.transport('base');
    for (const name of ['provider', 'near', 'far']) await createWorkspace(admin, 'root', name);
    admin.close();
    await flavors.bind('flavors', await flavors.publish('flavors', 'Flavor'));
  }, 240_000);
  afterAll(async () => {
    requests?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('are watched further after kill -9, from the revision before or by a list after 410', async () => {
    const listed = await flavors.get(objects('far'));
    const revision = field(listed, 'metadata', 'resourceVersion') as string;
    const after = await flavors.write();
    await flavors.arrives(after, []);
    await cluster.process.kill();
    await cluster.process.start();
    await flavors.arrives(after, []);
    const resumed = await flavors.watchOf('far', `&resourceVersion=${revision}`);
    await eventually(async () => expect(resumed.events.length).toBeGreaterThan(0), patient);
    const [event] = resumed.events;
    if (event?.['type'] === 'ERROR') expect(field(event['object'] as never, 'code')).toBe(410);
    else await flavors.arrives(after, [resumed]);
    resumed.close();
    const fresh = await flavors.watchOf('far', '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
    await flavors.arrives(await flavors.write(), [fresh]);
    fresh.close();
  }, 240_000);

  test('are rebuilt when the cache is lost, without those of a deleted CachedResource', async () => {
    await flavors.bind('images', await flavors.publish('images', 'Image'));
    await requests.must({ method: 'DELETE', path: cachedResource('images') });
    await cluster.process.kill();
    await rm(cluster.path('root', 'cache'), { recursive: true });
    await cluster.process.start();
    await flavors.arrives(await eventually(() => flavors.write(), patient), []);
    await eventually(async () => {
      expect((await requests.send({ path: cachedResource('images') })).status).toBe(404);
    }, patient);
    for (const consumer of ['near', 'far'])
      await eventually(async () => {
        const { status, json } = await requests.send({ path: objects(consumer, 'images') });
        expect(status).toBeGreaterThanOrEqual(500);
        expect(json['message']).toContain('images');
      }, patient);
  }, 240_000);
});
