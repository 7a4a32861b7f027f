import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, mapConcurrently, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { createWithRetry, eventually, TempDir } from '@multiplane/testing';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';
import { createWorkspace } from '../harness/workspaces.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const secrets = { group: '', version: 'v1', resource: 'secrets' };
const serviceAccounts = { group: '', version: 'v1', resource: 'serviceaccounts' };
const workspaces = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const crds = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
const cogs = { group: 'restore.example.com', version: 'v1', resource: 'cogs' };

const many = 300;

let folder: TempDir;
let cluster: ControlPlane;
let transport: RestTransport;
let client: RestClient;
const file = (): string => folder.join('team.snapshot');

async function snapshot(...args: string[]): Promise<{ code: number; out: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(multiplane, ['snapshot', ...args]);
    return { code: 0, out: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout + stderr };
  }
}
const kubeconfig = (): string[] => ['--kubeconfig', cluster.kubeconfig];
const save = (path: string): Promise<{ code: number; out: string }> =>
  snapshot('save', path, '--workspace', 'root:team', ...kubeconfig());
const restore = (...flags: string[]): Promise<{ code: number; out: string }> =>
  snapshot('restore', file(), '--workspace', 'root:team', ...kubeconfig(), ...flags);

const object = (kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'default' },
  ...more,
});

/** What users made, by name, with everything but the resource version. */
async function contentOf(path: string): Promise<Map<string, KubeObject>> {
  const found = new Map<string, KubeObject>();
  for (const resource of [configMaps, secrets, serviceAccounts, cogs]) {
    const { items } = await client.list(resource, { cluster: path as LogicalClusterName, namespace: 'default' });
    for (const { metadata, ...rest } of items) {
      const { resourceVersion: _, ...others } = metadata;
      // Written by the control plane itself.
      if (metadata.name !== 'kube-root-ca.crt')
        found.set(`${resource.resource}/${metadata.name}`, { metadata: others, ...rest });
    }
  }
  return found;
}

const linesOf = (content: ReadonlyMap<string, KubeObject>): string[] =>
  Array.from(content, ([name, each]) => `${name} ${JSON.stringify(each)}`).toSorted();

async function deleteTeam(path = 'root:team'): Promise<void> {
  const [name = '', parent] = [path.split(':').at(-1), path.slice(0, path.lastIndexOf(':')) as LogicalClusterName];
  const reference = { cluster: parent, namespace: '', name };
  await client.delete(workspaces, reference);
  await eventually(
    async () => {
      const error = await client.get(workspaces, reference).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(isStatusError(error, 'NotFound')).toBe(true);
    },
    { timeout: 90_000 },
  );
}

beforeAll(async () => {
  folder = await TempDir.create('workspace-snapshot');
  cluster = await startControlPlane();
  transport = cluster.transport('shard-base');
  client = new RestClient({ transport });
  await createWithRetry(() =>
    createWorkspace(transport, 'root', 'team', topologyName === 'sharded' ? { shard: 'shard-1' } : {}),
  );
  await createWorkspace(transport, 'root:team', 'child');
  await createWorkspace(transport, 'root', 'other');
  const team = 'root:team' as LogicalClusterName;
  await createWithRetry(() => client.create(configMaps, team, object('ConfigMap', 'first')), { timeout: 60_000 });
  await mapConcurrently(
    Array.from({ length: many }, (_, i) => i),
    16,
    (i) => client.create(configMaps, team, object('ConfigMap', `map-${i}`, { data: { i: String(i) } })),
  );
  await client.create(secrets, team, object('Secret', 'password', { stringData: { word: 'open' } }));
  const bot = await client.create(serviceAccounts, team, object('ServiceAccount', 'bot'));
  await client.create(configMaps, team, {
    ...object('ConfigMap', 'owned'),
    metadata: {
      name: 'owned',
      namespace: 'default',
      ownerReferences: [{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'bot', uid: bot.metadata.uid ?? '' }],
    },
  });
  await client.create(crds, team, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'cogs.restore.example.com' },
    spec: {
      group: cogs.group,
      scope: 'Namespaced',
      names: { plural: 'cogs', singular: 'cog', kind: 'Cog', listKind: 'CogList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  const cog = { apiVersion: 'restore.example.com/v1', kind: 'Cog', metadata: { name: 'cog', namespace: 'default' } };
  await createWithRetry(() => client.create(cogs, team, { ...cog, big: 9007199254740991, ratio: 0.5 }), {
    timeout: 60_000,
  });
  await createWithRetry(
    () => client.create(configMaps, 'root:team:child' as LogicalClusterName, object('ConfigMap', 'below')),
    { timeout: 60_000 },
  );
}, 300_000);

afterAll(async () => {
  transport?.close();
  await cluster?.[Symbol.asyncDispose]();
  await folder?.remove();
});

describe('the snapshot of a workspace', () => {
  test('has the workspace and what is below it, from all shards, and nothing else', async () => {
    const saved = await save(file());
    expect(saved).toMatchObject({
      code: 0,
      out: expect.stringMatching(/workspace root:team .*2 logical clusters; checksum correct/s),
    });
    const status = await snapshot('status', file(), '--resources', '--workspace', 'root:team');
    // 300 and three of the team, one of the child, and kube-root-ca.crt in the two namespaces of both.
    expect(status.out).toMatch(/ 307 {2}configmaps/);
    expect(await snapshot('status', file(), '--workspace', 'root:other')).toMatchObject({
      code: 1,
      out: expect.stringContaining('is of the workspace root:team, not of root:other'),
    });
    expect((await snapshot('save', folder.join('none'), '--workspace', 'root:none', ...kubeconfig())).out).toContain(
      'there is no workspace root:none',
    );
  });

  test('of a store is taken of one shard, with the same kubeconfig', async () => {
    if (topologyName !== 'sharded') {
      expect((await snapshot('save', folder.join('store.snapshot'), ...kubeconfig())).code).toBe(0);
      return;
    }
    const which = await snapshot('save', folder.join('store.snapshot'), ...kubeconfig());
    expect(which.out).toContain('--shard is needed: a snapshot is of one shard, and there are root, shard-1');
    const saved = await snapshot('save', folder.join('store.snapshot'), ...kubeconfig(), '--shard', 'shard-1');
    expect(saved).toMatchObject({ code: 0, out: expect.stringContaining('shard shard-1, etcd') });
  });

  test('is refused where its name is taken, without a parent, and on no shard', async () => {
    expect((await restore()).out).toContain(
      'the workspace root:team exists: delete it first, or restore under another path',
    );
    expect((await restore('--as', 'root:none:team')).out).toContain('the parent root:none does not exist');
    expect((await restore('--as', 'copy', '--target-shard', 'none')).out).toContain('there is no shard none');
    expect((await snapshot('restore', file(), '--root-directory', folder.join('store'))).out).toContain(
      'the snapshot is of the workspace root:team',
    );
  });

  test('is restored beside its original, under another parent and on another shard, with new uids', async () => {
    const before = await contentOf('root:team');
    expect(await restore('--as', 'root:other:copy', '--target-shard', 'root')).toMatchObject({
      code: 0,
      out: expect.stringContaining('restored root:other:copy on the shard root: 2 logical clusters'),
    });
    const after = await eventually(() => contentOf('root:other:copy'), { timeout: 60_000 });
    expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
    const clusterOf = ({ metadata }: KubeObject): string => metadata.annotations?.['kcp.io/cluster'] ?? '';
    const uids = new Map([...before].map(([name, { metadata }]) => [metadata.uid, after.get(name)?.metadata.uid]));
    for (const [name, original] of before) {
      const copy = after.get(name) as KubeObject;
      expect(copy.metadata.uid).not.toBe(original.metadata.uid);
      expect(clusterOf(copy)).not.toBe(clusterOf(original));
      const back = (text: string): string =>
        [...uids].reduce((all, [old, now]) => (now === undefined ? all : all.replaceAll(now, old ?? '')), text);
      const expected = JSON.stringify(original).replaceAll(clusterOf(original), clusterOf(copy));
      expect(
        name === 'configmaps/owned'
          ? back(JSON.stringify(copy))
          : JSON.stringify(copy).replace(copy.metadata.uid ?? '', original.metadata.uid ?? ''),
      ).toBe(expected);
    }
    await client.get(configMaps, {
      cluster: 'root:other:copy:child' as LogicalClusterName,
      namespace: 'default',
      name: 'below',
    });
    // It works as any other: objects and workspaces are created in it, and it is deleted with all that is below it.
    await createWorkspace(transport, 'root:other:copy', 'new');
    expect((await contentOf('root:team')).size).toBe(before.size);
    await deleteTeam('root:other:copy');
  }, 240_000);

  test('is restored under its own name after a deletion: the same objects, byte by byte', async () => {
    const before = await contentOf('root:team');
    await deleteTeam();
    expect(await restore()).toMatchObject({ code: 0, out: expect.stringContaining('restored root:team') });
    const after = await eventually(() => contentOf('root:team'), { timeout: 60_000 });
    expect(linesOf(after)).toEqual(linesOf(before));
    await client.get(configMaps, {
      cluster: 'root:team:child' as LogicalClusterName,
      namespace: 'default',
      name: 'below',
    });
    expect((await restore()).out).toContain('the workspace root:team exists');
  }, 240_000);

  test('a restore that is killed is continued by the same command', async () => {
    await deleteTeam();
    const child = spawn(multiplane, ['snapshot', 'restore', file(), '--workspace', 'root:team', ...kubeconfig()], {
      stdio: 'ignore',
    });
    const reference = { cluster: 'root' as LogicalClusterName, namespace: '', name: 'team' };
    const exited = once(child, 'exit');
    await eventually(() => client.get(workspaces, reference), { timeout: 60_000, interval: 5 });
    child.kill('SIGKILL');
    await exited;
    const interrupted = (await client.get(workspaces, reference)) as KubeObject & { status: { phase: string } };
    const result = await restore();
    // It may have been over already.
    if (interrupted.metadata.annotations?.['multiplane.io/restore'] === undefined)
      expect(result.out).toContain('the workspace root:team exists');
    else {
      expect(interrupted.status.phase).not.toBe('Ready');
      expect(result).toMatchObject({ code: 0, out: expect.stringContaining('continuing an earlier attempt') });
    }
    await eventually(async () => expect((await contentOf('root:team')).size).toBe(many + 6), { timeout: 60_000 });
  }, 240_000);
});
