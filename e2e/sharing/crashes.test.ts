import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiExport, apiResourceSchema, type ChildServer, eventually } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { topologyName } from '../harness/start-control-plane.ts';
import { LocalCluster } from '../harness/local-cluster.ts';
import { Requests } from '../harness/requests.ts';
import { ShardedCluster } from '../harness/sharded-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

const claimLabel = 'claimed.internal.apis.kcp.io/';
const exportsPath = '/apis/apis.kcp.io/v1alpha2/apiexports';
const bindingsPath = '/apis/apis.kcp.io/v1alpha2/apibindings';
const widgetsPath = '/apis/example.dev/v1/namespaces/default/widgets';
const mapsPath = '/api/v1/namespaces/default/configmaps';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const patient = { timeout: 30_000 };
const mapCount = 300;

interface Labelled {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

let cluster: ControlPlane;
/** Where the consumer is; the provider is on another shard when there are several. */
let shard: ChildServer;
let provider: Requests;
let consumer: Requests;

async function startCluster(): Promise<void> {
  if (topologyName === 'sharded') {
    const sharded = await ShardedCluster.start();
    cluster = sharded;
    shard = sharded.process('shard-shard-1');
  } else {
    const local = await LocalCluster.start();
    cluster = local;
    shard = local.process;
  }
}

/** Plain requests on new connections: those from before a crash are dead. */
function reconnect(): void {
  provider?.[Symbol.dispose]();
  consumer?.[Symbol.dispose]();
  provider = new Requests(cluster, '/clusters/root:provider');
  consumer = new Requests(cluster, '/clusters/root:consumer');
}

async function crash(): Promise<void> {
  await shard.kill();
  await shard.start();
  reconnect();
}

/** Names of config maps that carry the label of a claim. */
async function labelled(): Promise<string[]> {
  const { json } = await consumer.must({ path: mapsPath });
  return (json['items'] as Labelled[]).flatMap(({ metadata }) =>
    Object.keys(metadata.labels ?? {}).some((key) => key.startsWith(claimLabel)) ? metadata.name : [],
  );
}

interface Binding {
  readonly status?: {
    readonly phase?: string;
    readonly appliedPermissionClaims?: readonly { readonly resource: string }[];
  };
}
const bindingNow = async (): Promise<Binding> => (await consumer.must({ path: `${bindingsPath}/things` })).json;
const appliedNow = async (): Promise<string[]> =>
  ((await bindingNow()).status?.appliedPermissionClaims ?? []).map(({ resource }) => resource);

const bind = (state: 'Accepted' | 'Rejected'): Promise<unknown> =>
  consumer.must({
    method: 'POST',
    path: bindingsPath,
    body: {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'things' },
      spec: { reference: { export: { path: 'root:provider', name: 'things' } }, permissionClaims: claims(state) },
    },
  });
const claims = (state: string): unknown => [
  { group: '', resource: 'configmaps', verbs: ['*'], selector: { matchAll: true }, state },
];
const answer = (state: 'Accepted' | 'Rejected'): Promise<unknown> =>
  consumer.must({
    method: 'PATCH',
    path: `${bindingsPath}/things`,
    headers: mergePatch,
    body: { spec: { permissionClaims: claims(state) } },
  });

async function expectAllLabelled(): Promise<void> {
  await eventually(async () => expect(await appliedNow()).toEqual(['configmaps']), patient);
  expect((await labelled()).length).toBeGreaterThanOrEqual(mapCount);
}
beforeAll(async () => {
  await startCluster();
  const admin = cluster.transport('shard-base');
  await createWorkspace(admin, 'root', 'provider', { shard: 'root' });
  await createWorkspace(admin, 'root', 'consumer', { shard: topologyName === 'sharded' ? 'shard-1' : 'root' });
  admin.close();
  reconnect();
  await provider.must({
    method: 'POST',
    path: '/apis/apis.kcp.io/v1alpha1/apiresourceschemas',
    body: apiResourceSchema({ plural: 'widgets' }),
  });
  await provider.must({
    method: 'POST',
    path: exportsPath,
    body: apiExport('things', ['v1.widgets.example.dev'], {
      permissionClaims: [{ group: '', resource: 'configmaps', verbs: ['*'] }],
    }),
  });
  for (let at = 0; at < mapCount; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        consumer.must({
          method: 'POST',
          path: mapsPath,
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m${at + index}` } },
        }),
      ),
    );
}, 240_000);

afterAll(async () => {
  provider?.[Symbol.dispose]();
  consumer?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
});

test('a binding that was made before kill -9 is bound after it, and its claims hold', async () => {
  await eventually(() => bind('Accepted'), patient);
  await crash();
  await eventually(async () => expect((await bindingNow()).status?.phase).toBe('Bound'), patient);
  await expectAllLabelled();
  await eventually(
    () =>
      consumer.must({
        method: 'POST',
        path: widgetsPath,
        body: { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'one' } },
      }),
    patient,
  );
}, 120_000);

test('a claim that was rejected before kill -9 leaves no labels', async () => {
  await answer('Rejected');
  await crash();
  await eventually(async () => expect(await appliedNow()).toEqual([]), patient);
  expect(await labelled()).toEqual([]);
}, 120_000);

test('kill -9 while objects are labelled: all are in the end', async () => {
  await answer('Accepted');
  await eventually(async () => expect((await labelled()).length).toBeGreaterThan(0), patient);
  await crash();
  await expectAllLabelled();
}, 120_000);

test('a binding that was deleted before kill -9 takes its objects and labels with it', async () => {
  await consumer.must({ method: 'DELETE', path: `${bindingsPath}/things` });
  await crash();
  await eventually(
    async () => expect((await consumer.send({ path: `${bindingsPath}/things` })).status).toBe(404),
    patient,
  );
  expect(await labelled()).toEqual([]);
  await bind('Rejected');
  await eventually(async () => expect((await consumer.must({ path: widgetsPath })).json['items']).toEqual([]), patient);
}, 120_000);
