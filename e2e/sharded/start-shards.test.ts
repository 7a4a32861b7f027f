import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import { StartedShards } from '../harness/started-shards.ts';
import { VirtualResources } from '../harness/virtual-resources.ts';
import { field } from '../harness/workspaces.ts';

/*
 * `multiplane start --shards 2` as docs/operate.md describes it: it grows from one process, shards share their APIs without NATS, whatever
 * is killed comes back, a shard with workspaces is not taken away, and nothing is left behind when it stops.
 */

let place: StartedShards;
let shared: SharedApis;
let published: VirtualResources;
const patient = { timeout: 60_000 };

const configMaps = (workspace: string): string => `/clusters/root:${workspace}/api/v1/namespaces/default/configmaps`;
const workspacePath = (name: string): string => `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`;
const shardOf = async (name: string): Promise<unknown> =>
  field(await shared.get(workspacePath(name)), 'metadata', 'annotations', 'core.kcp.io/shard');
const shardNames = async (): Promise<string[]> => {
  const list = (await shared.get('/clusters/root/apis/core.kcp.io/v1alpha1/shards')) as { items: unknown[] };
  return list.items.map((shard) => field(shard as never, 'metadata', 'name') as string);
};
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const left = (): string[] => [...place.processes].filter(([, pid]) => isAlive(pid)).map(([name]) => name);

const flavors = {
  group: 'shop.example',
  plural: 'flavors',
  kind: 'Flavor',
  scope: 'Cluster',
  spec: { type: 'object', properties: { price: { type: 'integer' } } },
} as const;

beforeAll(async () => {
  place = await StartedShards.create();
  await place.start();
  shared = new SharedApis(place);
  published = new VirtualResources(shared);
}, 120_000);

afterAll(async () => {
  shared?.requests[Symbol.dispose]();
  await place?.[Symbol.asyncDispose]();
});

test('the root directory of one process grows to two shards and keeps what it has', async () => {
  await shared.workspace('provider', 'root');
  await shared.post(configMaps('provider'), configMap('before', { from: 'one process' }, { namespace: 'default' }));
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const accounts = '/clusters/root:provider/api/v1/namespaces/default/serviceaccounts/default';
  const issued = await eventually(() => shared.post(`${accounts}/token`, token), patient);
  await place.stop();

  await place.start('--shards=2');
  await eventually(async () => expect(await shardNames()).toEqual(['root', 'shard-1']), patient);
  expect(await shardOf('provider')).toBe('root');
  expect(field(await shared.get(`${configMaps('provider')}/before`), 'data', 'from')).toBe('one process');
  const answer = await shared.requests.send({
    as: field(issued, 'status', 'token') as string,
    method: 'POST',
    path: '/clusters/root:provider/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  expect([answer.status, field(answer.json as never, 'status', 'userInfo', 'username')]).toEqual([
    201,
    'system:serviceaccount:default:default',
  ]);
  const all = ['cache-server', 'console', 'front-proxy', 'shard-root', 'shard-shard-1'];
  await eventually(() => expect([...place.processes.keys()].toSorted()).toEqual(all), patient);
}, 180_000);

test('a workspace on each shard, an API that is bound and objects that are replicated between them', async () => {
  await shared.workspace('near', 'root');
  await shared.workspace('far', 'shard-1');
  expect([await shardOf('near'), await shardOf('far')]).toEqual(['root', 'shard-1']);
  await published.define(flavors);
  await shared.post(published.path('provider', 'flavors'), {
    apiVersion: 'shop.example/v1',
    kind: 'Flavor',
    metadata: { name: 'small' },
    spec: { price: 5 },
  });
  await published.replicate('flavors');
  await published.offer('shop', ['flavors']);
  for (const consumer of ['near', 'far']) {
    await shared.bind(consumer, 'shop');
    await published.shown(consumer, 'flavors', ['small']);
  }
}, 120_000);

test.each(['cache-server', 'shard-root', 'shard-shard-1', 'front-proxy', 'console'])(
  'kill -9 of %s: it is back, and so is what it stored',
  async (name) => {
    for (const workspace of ['near', 'far'])
      await shared.post(configMaps(workspace), configMap(`before-${name}`, {}, { namespace: 'default' }));
    const killed = place.processes.get(name) as number;
    process.kill(killed, 'SIGKILL');
    await eventually(() => expect(place.processes.get(name)).not.toBe(killed), patient);
    await eventually(async () => {
      for (const workspace of ['near', 'far']) {
        await shared.get(`${configMaps(workspace)}/before-${name}`);
        await published.shown(workspace, 'flavors', ['small']);
      }
    }, patient);
  },
  120_000,
);

test('what is published after the cache server was killed reaches the other shard', async () => {
  await shared.post(published.path('provider', 'flavors'), {
    apiVersion: 'shop.example/v1',
    kind: 'Flavor',
    metadata: { name: 'tall' },
    spec: { price: 7 },
  });
  await published.shown('far', 'flavors', ['small', 'tall']);
  expect(await shardOf('far')).toBe('shard-1');
}, 60_000);

test('every line of the log names its process, and a stop leaves none', async () => {
  const lines = place.log().trim().split('\n');
  const since = lines.findIndex((line) => line.includes(' | '));
  const names = new Set(lines.slice(since).map((line) => /^(\S+) +\| /.exec(line)?.[1]));
  expect(names).toEqual(new Set([...place.processes.keys(), 'supervisor']));
  await place.stop();
  expect(left()).toEqual([]);
}, 90_000);

test('a shard with workspaces is not taken away; an empty one is, and forgotten', async () => {
  expect(place.fails('--shards=1')).toMatch(
    /--shards=1 would take shard-1 away, which has 1 logical cluster: .*delete its workspaces or restore snapshots/,
  );
  // Without the flag it is what it was.
  await place.start();
  expect(await shardOf('far')).toBe('shard-1');
  await shared.remove(workspacePath('far'));
  await eventually(async () => {
    const { status } = await shared.requests.send({ path: workspacePath('far') });
    expect(status).toBe(404);
  }, patient);
  await place.stop();
  await place.start('--shards=1');
  await eventually(async () => expect(await shardNames()).toEqual(['root']), patient);
  expect(field(await shared.get(`${configMaps('provider')}/before`), 'data', 'from')).toBe('one process');
  await published.shown('near', 'flavors', ['small', 'tall']);
}, 240_000);

test('the servers stop when the supervisor is killed', async () => {
  expect(left()).not.toEqual([]);
  await place.kill();
  await eventually(() => expect(left()).toEqual([]), patient);
}, 90_000);
