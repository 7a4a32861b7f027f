import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ObjectReference } from '@multiplane/client';
import { ScriptedServer } from '@multiplane/client/conformance';
import { systemClock, type Clock } from '@multiplane/component-base';
// oxlint-disable-next-line tests/no-real-timers -- waits for sockets
import { eventually, TempDir } from '@multiplane/testing';
import { provider, type Provider, type ReconcileRequest } from '../src/index.ts';

/*
 * What docs/write-a-provider.md guarantees about watches, shards and errors. The servers of the provider's workspace and of two
 * shards are scripted; what needs a whole control plane is in e2e/provider-kit.
 */

const resource = 'example.dev/v1/things';
const at = (name: string, cluster = 'one'): ObjectReference => ({
  cluster: cluster as LogicalClusterName,
  namespace: 'n',
  name,
});
const slice = { cluster: 'root' as LogicalClusterName, namespace: '', name: 'things' };

let hub: ScriptedServer;
let east: ScriptedServer;
let west: ScriptedServer;
let running: Provider | undefined;
/** Passes so far: name, version and endpoint of the object. */
let passes: string[];
let gone: string[];

beforeEach(async () => {
  [hub, east, west] = await Promise.all([ScriptedServer.start(), ScriptedServer.start(), ScriptedServer.start()]);
  passes = [];
  gone = [];
  list(east, west);
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await Promise.all([hub.close(), east.close(), west.close()]);
});

/** Lists the shards in the endpoint slice. */
function list(...shards: readonly ScriptedServer[]): void {
  hub.put(slice, {}, { status: { endpoints: shards.map(({ url }) => ({ url: `${url}/services/x` })) } });
}
const shardOf = (endpoint: string): string => (endpoint.startsWith(east.url) ? 'east' : 'west');
const record = ({ name, object, endpoint }: ReconcileRequest): void => {
  passes.push(`${name}@${object.metadata.resourceVersion} ${shardOf(endpoint)}`);
};

async function start(
  reconcile: (request: ReconcileRequest) => Promise<void> = async (request) => record(request),
  {
    clock = systemClock,
    owned = [],
    kubeconfig = { server: `${hub.url}/clusters/root` },
  }: { clock?: Clock; owned?: readonly string[]; kubeconfig?: string | { server: string } } = {},
): Promise<void> {
  const builder = provider({ kubeconfig, export: 'things', leaderElection: false }, { clock }).resource(resource);
  for (const name of owned) builder.owns(name);
  running = builder.gone(async ({ name }) => void gone.push(name)).reconcile(reconcile);
  await running.start();
}

test('every object is reconciled after the start and after each change, and again after an error', async () => {
  east.put(at('a'));
  west.put(at('b', 'two'));
  let failures = 2;
  await start(async (request) => {
    if (request.name === 'b' && failures-- > 0) throw new Error('not now');
    record(request);
  });
  await eventually(() => expect(passes.sort()).toEqual(['a@101 east', 'b@101 west']));
  east.put(at('a'));
  await eventually(() => expect(passes).toContain('a@102 east'));
});

test('an object is not reconciled twice at the same time; changes meanwhile are one more pass', async () => {
  east.put(at('a'));
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  let active = 0;
  let most = 0;
  await start(async (request) => {
    most = Math.max(most, ++active);
    entered.resolve();
    await leave.promise;
    record(request);
    active--;
  });
  await entered.promise;
  east.put(at('a'));
  east.put(at('a'));
  east.put(at('other'));
  // Another object is reconciled meanwhile: what is held back is the object, not the queue.
  await eventually(() => expect(active).toBe(2));
  leave.resolve();
  await eventually(() => expect(passes).toContain('a@103 east'));
  expect(passes.filter((pass) => pass.startsWith('a@'))).toEqual(['a@101 east', 'a@103 east']);
  expect(most).toBe(2);
});

test('after 410 only what differs is reconciled, and what is missing is gone', async () => {
  for (const name of ['same', 'changed', 'deleted']) east.put(at(name));
  await start();
  await eventually(() => expect(passes).toHaveLength(3));
  passes = [];
  east.failWith = 503;
  east.cut();
  east.put(at('changed'));
  east.remove(at('deleted'));
  east.compact();
  east.failWith = undefined;
  await eventually(() => expect(gone).toEqual(['deleted']));
  expect(passes).toEqual(['changed@104 east']);
});

test('while a shard is lost the others are served; when its endpoint is removed its objects are not gone', async () => {
  east.put(at('a'));
  west.put(at('b', 'two'));
  await start();
  await eventually(() => expect(passes).toHaveLength(2));
  west.failWith = 503;
  west.cut();
  east.put(at('a'));
  await eventually(() => expect(passes).toContain('a@102 east'));
  list(east);
  east.put(at('a'));
  await eventually(() => expect(passes).toContain('a@103 east'));
  // The shard comes back with what it had, and with a change.
  west.failWith = undefined;
  west.put(at('b', 'two'));
  list(east, west);
  await eventually(() => expect(passes).toContain('b@102 west'));
  expect(gone).toEqual([]);
});

test('an object that moves to another shard is reconciled there, and is not gone', async () => {
  west.put(at('a'));
  await start();
  await eventually(() => expect(passes).toEqual(['a@101 west']));
  east.put(at('a'));
  await eventually(() => expect(passes).toContain('a@101 east'));
  west.remove(at('a'));
  east.put(at('a'));
  await eventually(() => expect(passes).toContain('a@102 east'));
  expect(passes.slice(1).filter((pass) => pass.endsWith('west'))).toEqual([]);
  expect(gone).toEqual([]);
});

test('an endpoint serves although a claimed resource is refused, and that once it is allowed', async () => {
  east.put(at('a'));
  for (const shard of [east, west]) {
    shard.failWith = 403;
    shard.failFor = 'configmaps';
  }
  await start(undefined, { owned: ['v1/configmaps'] });
  await eventually(() => expect(passes).toContain('a@101 east'));
  east.failWith = undefined;
  // The objects of the scripted server are those of all its resources.
  await eventually(() =>
    expect(east.requests.filter((path) => path.includes('/configmaps')).length).toBeGreaterThan(1),
  );
});

test('credentials that are rotated in the kubeconfig are used from then on', async () => {
  const folder = await TempDir.create('provider');
  const write = (token: string): void =>
    writeFileSync(
      folder.join('kubeconfig'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'x',
        clusters: [{ name: 'x', cluster: { server: `${hub.url}/clusters/root` } }],
        contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
        users: [{ name: 'x', user: { token } }],
      }),
      { mode: 0o600 },
    );
  try {
    write('first');
    await start(undefined, { kubeconfig: folder.join('kubeconfig') });
    await eventually(() => expect(east.credentials).toContain('Bearer first'));
    write('second');
    await eventually(() => {
      for (const server of [hub, east]) server.endWatches();
      expect([...hub.credentials, ...east.credentials]).toEqual([
        'Bearer first',
        'Bearer second',
        'Bearer first',
        'Bearer second',
      ]);
    });
  } finally {
    await running?.stop();
    await folder.remove();
  }
});

test('a stopped provider leaves no timer behind', async () => {
  let timers = 0;
  const clock: Clock = {
    ...systemClock,
    after(ms, callback) {
      timers++;
      let isActive = true;
      const end = (): void => {
        if (isActive) timers--;
        isActive = false;
      };
      const timer = systemClock.after(ms, () => {
        end();
        callback();
      });
      return {
        cancel: () => {
          end();
          timer.cancel();
        },
      };
    },
  };
  east.put(at('a'));
  await start(undefined, { clock });
  await eventually(() => expect(passes).toHaveLength(1));
  await running?.stop();
  await eventually(() => expect(timers).toBe(0), { timeout: 2_000 });
});
