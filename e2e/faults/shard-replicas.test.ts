import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { EtcdServer, eventually } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/*
 * Two replicas of a shard on one etcd: whichever of them dies under writes, the other one has all that was acknowledged by
 * either, its watches miss nothing, and the controllers run on.
 */

const root = 'root' as LogicalClusterName;
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
const lease = { cluster: 'system:admin' as LogicalClusterName, namespace: 'kube-system', name: 'kcp-controllers' };
const names = ['first', 'second'] as const;

interface Replica {
  readonly cluster: LocalCluster;
  readonly transport: RestTransport;
  readonly client: RestClient;
}

let etcd: EtcdServer;
let replicas: Replica[];
/** Which of them runs the controllers: the first one, as it came first. */
let leading = 0;

beforeAll(async () => {
  etcd = await EtcdServer.start();
  replicas = [];
  for (const name of names) {
    const cluster = await LocalCluster.start({
      flags: [
        `--etcd-servers=${etcd.endpoint}`,
        '--enable-leader-election',
        '--leader-election-lease-duration=4s',
        '--leader-election-renew-deadline=2s',
        '--leader-election-retry-period=300ms',
      ],
    });
    const transport = cluster.transport('shard-base');
    replicas.push({ cluster, transport, client: new RestClient({ transport }) });
    await createWorkspace(transport, 'root', `by-${name}`);
  }
}, 180_000);

afterAll(async () => {
  for (const { cluster, transport } of replicas) {
    transport.close();
    await cluster[Symbol.asyncDispose]();
  }
  await etcd[Symbol.asyncDispose]();
});

const holder = async ({ client }: Replica): Promise<string> =>
  ((await client.get(leases, lease))['spec'] as { holderIdentity: string }).holderIdentity;

/** Names of the objects that a watch of the ConfigMaps of root tells of, as they come. */
async function follow({ client, transport }: Replica): Promise<{ readonly added: Set<string>; stop(): void }> {
  const { metadata } = await client.list(configMaps, { cluster: root });
  const path = `/clusters/root/api/v1/configmaps?watch=1&resourceVersion=${metadata?.resourceVersion ?? ''}`;
  const response = await transport.open({ method: 'GET', path, longRunning: true });
  const added = new Set<string>();
  let rest = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
      if (type === 'ADDED') added.add(object.metadata.name ?? '');
    }
  });
  response.on('error', () => undefined);
  return { added, stop: () => void response.destroy() };
}

/** Creates one after the other at a replica until it dies or is stopped; returns the names that were acknowledged. */
function writeAt({ client }: Replica, prefix: string): { readonly acknowledged: Set<string>; stop(): Promise<void> } {
  const acknowledged = new Set<string>();
  const state = { stopped: false };
  const write = async (writer: number): Promise<void> => {
    for (let i = 0; !state.stopped; i++) {
      const name = `${prefix}-${writer}-${i}`;
      try {
        await client.create(configMaps, root, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace: 'default' },
        });
        acknowledged.add(name);
      } catch {
        return;
      }
    }
  };
  const writers = Array.from({ length: 4 }, (_, writer) => write(writer));
  return {
    acknowledged,
    stop: async () => {
      state.stopped = true;
      await Promise.all(writers);
    },
  };
}

test.each(['the one that leads', 'the one that does not'])(
  'kill -9 of %s under writes at both',
  async (which) => {
    const isLeader = which !== 'the one that does not';
    const doomed = replicas[isLeader ? leading : 1 - leading] as Replica;
    const survivor = replicas.find((replica) => replica !== doomed) as Replica;
    const leader = await holder(survivor);

    const prefix = which.replaceAll(/\W+/g, '-');
    const watch = await follow(survivor);
    const writers = [writeAt(doomed, `${prefix}-d`), writeAt(survivor, `${prefix}-s`)] as const;
    await eventually(() => expect(writers[0].acknowledged.size).toBeGreaterThan(100), { timeout: 20_000 });
    const before = writers[1].acknowledged.size;
    await doomed.cluster.process.kill();
    await eventually(() => expect(writers[1].acknowledged.size).toBeGreaterThan(before + 50), { timeout: 20_000 });
    for (const writer of writers) await writer.stop();

    const stored = new Set(
      (await survivor.client.list(configMaps, { cluster: root })).items.map(({ metadata }) => metadata.name ?? ''),
    );
    const acknowledged = writers.flatMap((writer) => [...writer.acknowledged]);
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
    // The watch delivered exactly the stored objects, whichever replica wrote them and whether or not the response arrived.
    const written = [...stored].filter((name) => name.startsWith(`${prefix}-`)).sort();
    await eventually(() => expect([...watch.added].sort()).toEqual(written));
    watch.stop();

    // Controllers: the current leader reconciles.
    await createWorkspace(survivor.transport, 'root', prefix);
    expect((await holder(survivor)) !== leader).toBe(isLeader);
    if (isLeader) leading = 1 - leading;
    await doomed.cluster.process.start();
    await createWorkspace(doomed.transport, 'root', `${prefix}-again`);
  },
  120_000,
);

test('a stall of the event loop of the one that leads: readiness fails, liveness does not, the other one leads, no request is lost', async () => {
  const stalled = replicas[leading] as Replica;
  const other = replicas[1 - leading] as Replica;
  const leader = await holder(other);
  using requests = new Requests(stalled.cluster);
  const configMapsOfRoot = '/clusters/root/api/v1/namespaces/default/configmaps';
  const livez = async (): Promise<number> => (await requests.send({ path: '/livez' })).status;
  const readyz = (): ReturnType<Requests['send']> => requests.send({ path: '/readyz?verbose' });
  await eventually(async () => expect((await readyz()).status).toBe(200), { timeout: 60_000 });
  const watch = await follow(stalled);

  await stalled.cluster.process.freeze();
  const frozenAt = performance.now();
  const names = Array.from({ length: 10 }, (_, i) => `during-the-stall-${i}`);
  const waiting = names.map((name) =>
    requests.send({
      method: 'POST',
      path: configMapsOfRoot,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
    }),
  );
  await eventually(async () => expect(await holder(other)).not.toBe(leader), { timeout: 60_000 });
  await createWorkspace(other.transport, 'root', 'during-the-stall');
  // Longer than what a process may stall without becoming unready.
  await eventually(() => expect(performance.now() - frozenAt).toBeGreaterThan(11_000), { timeout: 20_000 });
  stalled.cluster.process.thaw();

  const ready = await readyz();
  expect([ready.status, ready.text]).toEqual([500, expect.stringContaining('[-]event-loop')]);
  expect(await livez()).toBe(200);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(names.map(() => 201));
  await eventually(() => expect([...watch.added].filter((name) => names.includes(name)).sort()).toEqual(names));
  watch.stop();
  // The stalled process has lost its term and does not take it back.
  expect(await holder(stalled)).not.toBe(leader);
  leading = 1 - leading;
  await createWorkspace(stalled.transport, 'root', 'after-the-stall');
  await eventually(async () => expect((await readyz()).status).toBe(200), { timeout: 60_000 });
  expect(stalled.cluster.process.running).toBe(true);
}, 180_000);
