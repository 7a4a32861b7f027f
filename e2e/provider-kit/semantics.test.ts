import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, provider, type KubeObject, type Provider, type ReconcileRequest } from '@multiplane/provider';
import { eventually, TempDir } from '@multiplane/testing';
import { startTestingServer, type TestingServer, type TestingWorkspace } from '@multiplane/testing-server';
import { createProject } from 'create-multiplane-provider';
import { repository } from '../harness/foreign-program.ts';

/*
 * What docs/write-a-provider.md guarantees about finalizers, bindings and leader election. What is about watches and shards is in
 * packages/provider/test/semantics.test.ts.
 */

type Cowboy = KubeObject & { spec: { text: string }; status?: { message?: string } };
const cowboys = 'wildwest.dev/v1alpha1/cowboys';
const finalizer = 'wildwest.dev/cleanup';

let server: TestingServer;
let folder: TempDir;
let home: TestingWorkspace;
const running: Provider[] = [];

beforeAll(async () => {
  folder = await TempDir.create('semantics');
  await createProject({ folder: folder.path, group: 'wildwest.dev' });
  server = await startTestingServer({ command: [join(repository, 'bin', 'multiplane')] });
  home = await server.createWorkspace('root:provider');
  for (const name of ['schema', 'export']) await home.applyFile(folder.join('config', `${name}.yaml`));
}, 60_000);
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
});
afterAll(async () => {
  await server?.stop();
  await folder?.remove();
});

async function consumer(name: string): Promise<TestingWorkspace> {
  const workspace = await server.createWorkspace(`root:${name}`);
  await workspace.applyFile(folder.join('config', 'binding.yaml'));
  return workspace;
}
const cowboy = (name: string): Cowboy => ({
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name, namespace: 'default' },
  spec: { text: name },
});

/** What the provider did, in order. */
async function record({ releases = async () => {} }: { releases?: () => Promise<void> } = {}): Promise<string[]> {
  const did: string[] = [];
  const one = provider({ kubeconfig: home.kubeconfig, export: 'cowboys', leaderElection: false })
    .resource<Cowboy>(cowboys)
    .finalizer(finalizer, async ({ name }) => {
      did.push(`release ${name}`);
      await releases();
    })
    .gone(async ({ name }) => void did.push(`gone ${name}`))
    .reconcile(async ({ object, name }) => {
      did.push(`${(object.metadata.finalizers ?? []).includes(finalizer) ? 'reconcile' : 'too early'} ${name}`);
    });
  running.push(one);
  await one.start();
  return did;
}

test('a finalizer precedes the first pass, its release is repeated until it succeeds, and then the object is gone', async () => {
  const workspace = await consumer('finalizers');
  let failures = 2;
  const did = await record({
    releases: async () => {
      if (failures-- > 0) throw new Error('not yet');
    },
  });
  await workspace.apply(cowboy('woody'));
  await eventually(() => expect(did).toContain('reconcile woody'));
  await workspace.delete(cowboys, 'woody', 'default');
  await eventually(() => expect(did).toContain('gone woody'));
  expect(did.filter((what) => what !== 'reconcile woody')).toEqual([
    ...Array<string>(3).fill('release woody'),
    'gone woody',
  ]);
  const read = workspace.get(cowboys, 'woody', 'default').catch((error: unknown) => isStatusError(error, 'NotFound'));
  expect(await read).toBe(true);
});

test('when a consumer unbinds, its objects are released and gone, and those of others stay', async () => {
  const [leaving, staying] = [await consumer('leaving'), await consumer('staying')];
  const did = await record();
  await leaving.apply(cowboy('buzz'));
  await staying.apply(cowboy('jesse'));
  await eventually(() => expect(did).toEqual(expect.arrayContaining(['reconcile buzz', 'reconcile jesse'])));
  await leaving.delete('apis.kcp.io/v1alpha2/apibindings', 'cowboys');
  await eventually(() => expect(did).toContain('gone buzz'));
  expect(did).toContain('release buzz');
  expect(did.filter((what) => /(?:release|gone) jesse/.test(what))).toEqual([]);
});

test('of two processes one reconciles; the other takes over when that stops, and reconciles everything', async () => {
  const workspace = await consumer('twice');
  const passes: [string[], string[]] = [[], []];
  const both = passes.map((did) =>
    provider({ kubeconfig: home.kubeconfig, export: 'cowboys' })
      .resource<Cowboy>(cowboys)
      .reconcile(async ({ name }: ReconcileRequest<Cowboy>) => void did.push(name)),
  );
  running.push(...both);
  await Promise.all(both.map((one) => one.start()));
  await workspace.apply(cowboy('lenny'));
  await eventually(() => expect(passes.flat()).toContain('lenny'));
  expect(both.filter(({ isLeader }) => isLeader)).toHaveLength(1);
  const first = both.findIndex(({ isLeader }) => isLeader);
  const second = 1 - first;
  expect(passes[second]).toEqual([]);
  await both[first]?.stop();
  const before = passes[first]?.length;
  await eventually(() => expect(passes[second]).toContain('lenny'));
  await workspace.apply(cowboy('wheezy'));
  await eventually(() => expect(passes[second]).toContain('wheezy'));
  expect(passes[first]).toHaveLength(before ?? 0);
});
