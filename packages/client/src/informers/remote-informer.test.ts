// oxlint-disable tests/no-real-time-with-fake-clock -- lists and watches come over sockets
import { afterEach, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger, systemClock } from '@multiplane/component-base';
import { FakeClock, eventually, turnsDuring } from '@multiplane/testing';
import { informerConformance, ScriptedServer, textLabel } from '../../test/conformance/index.ts';
import type { ObjectReference } from '../lister.ts';
import { RestTransport } from '../rest-transport.ts';
import { RemoteInformer } from './remote-informer.ts';
import { RemoteInformerFactory } from './remote-informer-factory.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const one = 'one' as LogicalClusterName;
const a: ObjectReference = { cluster: one, namespace: 'n', name: 'a' };

for (const watchList of [true, false]) {
  for (const history of ['kept', 'forgotten'] as const) {
    informerConformance(`remote, ${watchList ? 'watch list' : 'list'}, history ${history}`, async () => {
      const server = await ScriptedServer.start();
      server.watchList = watchList;
      const transport = new RestTransport({ config: { server: server.url } });
      const factory = new RemoteInformerFactory(
        { minPauseMs: 1, maxPauseMs: 10, pageSize: 2 },
        { transport, clock: systemClock, logger: silentLogger },
      );
      const informer = factory.informer(configMaps);
      await factory.start();
      return {
        informer,
        put: async (reference, text) => server.put(reference, { labels: { [textLabel]: text } }),
        remove: async (reference) => server.remove(reference),
        whileDisconnected: async (meanwhile) => {
          server.failWith = 503;
          server.cut();
          await meanwhile();
          if (history === 'forgotten') server.compact();
          server.failWith = undefined;
        },
        close: async () => {
          await factory.stop();
          transport.close();
          await server.close();
        },
      };
    });
  }
}

describe('remote informer', () => {
  let release: (() => Promise<void>) | undefined;
  afterEach(async () => {
    await release?.();
    release = undefined;
  });

  /** An informer that runs against a scripted server. */
  async function follow(options: { keep?: (object: KubeObject) => KubeObject; before?: (s: ScriptedServer) => void }) {
    const server = await ScriptedServer.start();
    options.before?.(server);
    const failures: Error[] = [];
    const transport = new RestTransport({ config: { server: server.url } });
    const informer = new RemoteInformer(
      {
        resource: configMaps,
        pathPrefix: '/services/cache/shards/*',
        minPauseMs: 1,
        maxPauseMs: 5,
        transform: options.keep,
      },
      { transport, clock: systemClock, onFailure: (error) => void failures.push(error) },
    );
    const abort = new AbortController();
    const running = informer.run(abort.signal);
    release = async () => {
      abort.abort();
      await running;
      transport.close();
      await server.close();
    };
    return { server, informer, failures };
  }

  test('stores the result of its transform', async () => {
    const { informer } = await follow({
      before: (server) => server.put(a, { labels: { x: 'y' }, finalizers: ['long/list'] }),
      keep: ({ apiVersion, kind, metadata: { name, annotations, resourceVersion } }) => ({
        apiVersion,
        kind,
        metadata: { name, annotations, resourceVersion } as KubeObject['metadata'],
      }),
    });
    await informer.synced;
    expect(Object.keys(informer.get(a)?.metadata ?? {})).toEqual(['name', 'annotations', 'resourceVersion']);
  });

  test('distinguishes the same object on two shards', async () => {
    const { informer, server } = await follow({});
    await informer.synced;
    const shards: string[] = [];
    informer.addHandlers({
      added: ({ metadata }) => void shards.push(`+${metadata.annotations?.['kcp.io/shard']}`),
      deleted: ({ metadata }) => void shards.push(`-${metadata.annotations?.['kcp.io/shard']}`),
    });
    const frame = (type: string, shard: string, version: number): string =>
      `${JSON.stringify({ type, object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n', resourceVersion: String(version), annotations: { 'kcp.io/cluster': 'one', 'kcp.io/shard': shard } } } })}\n`;
    await eventually(() => expect(server.watchers).toBe(1));
    server.inject(frame('ADDED', 'east', 201) + frame('ADDED', 'west', 202) + frame('DELETED', 'east', 203));
    await eventually(() => expect(shards).toEqual(['+east', '+west', '-east']));
    expect(informer.get(a)?.metadata.annotations?.['kcp.io/shard']).toBe('west');
  });

  test('reports a failure while its server is unavailable', async () => {
    const { informer, server, failures } = await follow({});
    await informer.synced;
    expect(informer.failure).toBeUndefined();
    server.failWith = 503;
    server.cut();
    await eventually(() => expect(informer.failure?.message).toBe('scripted failure'));
    server.failWith = undefined;
    await eventually(() => expect(informer.failure).toBeUndefined());
    expect(failures.length).toBeGreaterThan(0);
  });

  test('calls a new handler for a long list without blocking the event loop, and misses no event', async () => {
    const { informer, server } = await follow({
      before: (scripted) => {
        for (let i = 0; i < 1200; i++) scripted.put({ cluster: one, namespace: 'n', name: `o${i}` });
      },
    });
    await informer.synced;
    const events: string[] = [];
    const { turns } = await turnsDuring(() => {
      informer.addHandlers({
        added: (_object, { name }) => void events.push(name),
        deleted: (_old, { name }) => void events.push(`-${name}`),
        synced: () => void events.push('synced'),
      });
      server.remove({ cluster: one, namespace: 'n', name: 'o0' });
      return eventually(() => expect(events.at(-1)).toBe('-o0'));
    });
    expect(events.length).toBe(1202);
    expect(events.indexOf('synced')).toBe(1200);
    expect(turns).toBeGreaterThan(1);
  });
});

describe('remote informer factory', () => {
  test('lists a resource once, under the prefix, also when it is requested after the start', async () => {
    const server = await ScriptedServer.start();
    server.put(a);
    const transport = new RestTransport({ config: { server: server.url } });
    const factory = new RemoteInformerFactory(
      { pathPrefix: '/services/cache/shards/*' },
      { transport, clock: new FakeClock(), logger: silentLogger },
    );
    const abort = new AbortController();
    await factory.start(abort.signal);
    expect(factory.informer(configMaps)).toBe(factory.informer(configMaps));
    await factory.synced;
    expect(factory.informer(configMaps).get(a)?.kind).toBe('ConfigMap');
    expect(server.requests.map((request) => request.split('?')[0])).toEqual([
      '/services/cache/shards/*/clusters/*/api/v1/configmaps',
    ]);
    expect(() => factory.check()).not.toThrow();
    abort.abort();
    await eventually(() => expect(server.watchers).toBe(0));
    await factory.stop();
    transport.close();
    await server.close();
  });
});
