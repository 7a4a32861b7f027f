/*
 * A provider on two shards: how long it takes from its start until all objects are reconciled, what an object costs in its cache, and how
 * long after a write its pass begins (issue 39, 1). Figures beside the name choose other numbers: workspaces, objects. Servers
 * and the provider share the processors of this machine.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KubeObject } from '@multiplane/apimachinery';
import type { APIBinding, APIExport } from '@multiplane/apis';
import type { RestTransport } from '@multiplane/client';
import { provider, type Provider } from '@multiplane/provider';
import { apiExport } from '@multiplane/testing';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { atRate, get, many, newWorkspace, post, readyWorkspaces, until, workspacesIn } from './load.ts';
import { report } from './report.ts';

const [workspaces = 1_000, objects = 10_000] = process.argv.slice(2).map(Number);
const clients = 16;
const perSecond = 50;
const timed = 1_000;
/** Of an object's text; with its metadata it has two kilobytes. */
const textBytes = 1_500;
const group = 'bench.example.dev';
const apis = 'apis/apis.kcp.io/v1alpha2';
const resource = `${group}/v1/notes`;

type Note = KubeObject & { spec: { step: number; text: string }; status?: { step?: number } };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const used = (): number => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const pathOf = (cluster: string, index: number): string =>
  `/clusters/${cluster}/apis/${group}/v1/notes/note-${Math.trunc(index / workspaces)}`;

/** A provider's workspace, and consumers on both shards by turns; their logical clusters. */
async function prepare(cluster: ShardedCluster, transport: RestTransport): Promise<readonly string[]> {
  await post(transport, workspacesIn('root'), newWorkspace('provider', 0));
  await until(async () => {
    const { status } = await get<{ status?: { phase?: string } }>(transport, `${workspacesIn('root')}/provider-0`);
    return status?.phase === 'Ready';
  });
  const home = 'root:provider-0';
  const step = { type: 'integer' };
  const schema = {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `v1.notes.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'notes', singular: 'note', kind: 'Note', listKind: 'NoteList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { step, text: { type: 'string' } } },
              status: { type: 'object', properties: { step } },
            },
          },
          subresources: { status: {} },
        },
      ],
    },
  };
  await post(transport, `/clusters/${home}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`, schema);
  await post(transport, `/clusters/${home}/${apis}/apiexports`, apiExport('notes', [`v1.notes.${group}`]));
  await until(async () => {
    const { status } = await get<APIExport>(transport, `/clusters/${home}/${apis}/apiexports/notes`);
    return status?.identityHash !== undefined;
  });
  const parts = await Promise.all(
    cluster.shards.map((shard) =>
      readyWorkspaces(transport, 'root', {
        count: workspaces / cluster.shards.length,
        clients: clients / cluster.shards.length,
        prefix: shard,
        spec: { location: { selector: { matchLabels: { name: shard } } } },
      }),
    ),
  );
  const clusters = parts.flat();
  await many(clusters.length, clients, async (index) => {
    const path = `/clusters/${clusters[index]}/${apis}/apibindings`;
    await post(transport, path, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'notes' },
      spec: { reference: { export: { path: home, name: 'notes' } } },
    });
    await until(async () => (await get<APIBinding>(transport, `${path}/notes`)).status?.phase === 'Bound');
  });
  const text = 'x'.repeat(textBytes);
  await many(objects, clients, (index) => {
    const path = pathOf(clusters[index % clusters.length] as string, index);
    return post(transport, path.slice(0, path.lastIndexOf('/')), {
      apiVersion: `${group}/v1`,
      kind: 'Note',
      metadata: { name: path.slice(path.lastIndexOf('/') + 1) },
      spec: { step: 0, text },
    });
  });
  return clusters;
}

async function measure(cluster: ShardedCluster, transport: RestTransport): Promise<void> {
  const clusters = await prepare(cluster, transport);
  const options = {
    kubeconfig: { server: `${cluster.url}/clusters/root:provider-0`, ca: cluster.ca, token: cluster.adminToken },
    export: 'notes',
    leaderElection: false,
  } as const;
  const passes = new Map<string, number>();
  let bytes = 0;
  const reconciled = Promise.withResolvers<void>();
  const began = new Map<string, number>();
  const times: number[] = [];
  const before = used();
  const started = performance.now();
  const running: Provider = provider(options)
    .resource<Note>(resource)
    .reconcile(async (request) => {
      const { object, cluster: at, name } = request;
      const { step } = object.spec;
      const key = `${at}/${name}/${step}`;
      const at0 = began.get(key);
      if (at0 !== undefined) {
        times.push(performance.now() - at0);
        began.delete(key);
      }
      await request.patchStatus({ step });
      if (step > 0 || passes.has(key)) return;
      passes.set(key, step);
      bytes += JSON.stringify(object).length;
      if (passes.size === objects) reconciled.resolve();
    });
  await running.start();
  try {
    await reconciled.promise;
    report({
      name: `a provider reconciles ${objects} objects after its start`,
      value: (performance.now() - started) / 1_000,
      unit: 's',
      target: { atMost: 10 },
      note: `${workspaces} workspaces on ${cluster.shards.length} shards; each pass writes the status`,
    });
    passes.clear();
    const perObject = (used() - before) / objects;
    report({
      name: 'memory of a provider per object, in sizes of the object',
      value: perObject / (bytes / objects),
      unit: '×',
      target: { atMost: 1.5 },
      note: `${Math.round(perObject)} bytes for ${Math.round(bytes / objects)} bytes of JSON; the whole growth of the process`,
    });
    await atRate(timed, perSecond, (index) => {
      const step = 1 + Math.trunc(index / objects);
      const at = clusters[index % clusters.length] as string;
      const path = pathOf(at, index);
      began.set(`${at}/${path.slice(path.lastIndexOf('/') + 1)}/${step}`, performance.now());
      return transport.json({
        method: 'PATCH',
        path,
        contentType: 'application/merge-patch+json',
        body: JSON.stringify({ spec: { step } }),
      });
    });
    await until(() => Promise.resolve(times.length === timed));
    const sorted = times.toSorted((a, b) => a - b);
    report({
      name: 'write to pass of a provider, p99',
      value: sorted[Math.ceil(timed * 0.99) - 1] as number,
      unit: 'ms',
      target: { atMost: 50 },
      note: `${perSecond} writes/s, from the request to the begin of the pass; median ${(sorted[timed / 2] as number).toFixed(1)} ms`,
    });
  } finally {
    await running.stop();
  }
}

console.log(`\nA provider of ${objects} objects in ${workspaces} workspaces on two shards`);
await using cluster = await ShardedCluster.start();
const transport = cluster.transport('root');
try {
  await measure(cluster, transport);
} finally {
  transport.close();
}
