import { execFile } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import { createWithRetry, EtcdServer, TempDir } from '@multiplane/testing';
import { LocalCluster } from '../harness/local-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

const run = promisify(execFile);
const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
const configMaps = { group: '', version: 'v1', resource: 'configmaps' };

async function snapshot(...args: string[]): Promise<{ code: number; out: string }> {
  try {
    const { stdout, stderr } = await run(multiplane, ['snapshot', ...args]);
    return { code: 0, out: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout + stderr };
  }
}

const configMap = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { value: name },
});

/** What a user has made, as it is answered, without what a restore changes. */
async function content(client: RestClient, cluster: LogicalClusterName): Promise<unknown[]> {
  const { items } = await client.list(configMaps, { cluster, namespace: 'default' });
  // The shard writes its own CA to kube-root-ca.crt.
  const own = items.filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
  return own.map(({ metadata, ...rest }) => [metadata.name, metadata.uid, metadata.creationTimestamp, rest]);
}

/** One control plane that moves: embedded store → etcd → embedded store. */
describe('snapshots', () => {
  let folder: TempDir;
  let cluster: LocalCluster;
  let transport: RestTransport;
  let client: RestClient;
  let tenant: LogicalClusterName;
  beforeAll(async () => {
    folder = await TempDir.create('snapshots');
    cluster = await LocalCluster.start();
    transport = cluster.transport('shard-base');
    client = new RestClient({ transport });
    tenant = (await createWorkspace(transport, 'root', 'tenant')) as LogicalClusterName;
    for (let i = 0; i < 20; i++) await createWithRetry(() => client.create(configMaps, tenant, configMap(`map-${i}`)));
  }, 120_000);
  afterAll(async () => {
    transport.close();
    await cluster[Symbol.asyncDispose]();
    await folder.remove();
  });

  test('only system:masters may read one, and only of the shard', async () => {
    const status = async (path: string, token?: string): Promise<number | undefined> => {
      const as = token === undefined ? transport : cluster.transport({ token });
      const response = await as.open({ method: 'GET', path }).catch((error: { code: number }) => ({
        statusCode: error.code,
        resume: () => undefined,
      }));
      response.resume();
      return response.statusCode;
    };
    expect(await status('/snapshot')).toBe(200);
    expect(await status('/snapshot', 'user-1-token')).toBe(403);
    expect(await status('/snapshot', cluster.adminToken)).toBe(403);
    expect(await status('/clusters/root/snapshot')).toBe(404);
    expect(await status('/snapshot', '')).not.toBe(200);
  });

  test('a root directory in use leads to the server that uses it, or to what to do', async () => {
    const env = { ...process.env, MULTIPLANE_ROOT_DIRECTORY: cluster.path('root') };
    const kubeconfig = cluster.path('root', 'admin.kubeconfig');
    const asked = await run(multiplane, ['snapshot', 'save', folder.join('asked.snapshot')], { env });
    expect([asked.stderr, asked.stdout]).toEqual([
      expect.stringContaining(`asking it, as ${kubeconfig} says`),
      expect.stringMatching(/saved .*checksum correct/s),
    ]);
    const subtree = ['snapshot', 'save', folder.join('tenant.snapshot'), '--workspace', 'root:tenant'];
    expect((await run(multiplane, subtree, { env })).stdout).toMatch(/saved .*checksum correct/s);

    const away = folder.join('away.kubeconfig');
    renameSync(kubeconfig, away);
    try {
      const file = folder.join('refused.snapshot');
      expect(await snapshot('save', file, '--root-directory', cluster.path('root'))).toMatchObject({
        code: 1,
        out: expect.stringContaining(`there is no ${kubeconfig} to ask it with: name its kubeconfig with --kubeconfig`),
      });
      expect(existsSync(file)).toBe(false);
      expect((await run(multiplane, ['snapshot', 'save', file, '--kubeconfig', away], { env })).stdout).toContain(
        'saved',
      );
    } finally {
      renameSync(away, kubeconfig);
    }
  });

  test('move a control plane to etcd and back', async () => {
    const before = await content(client, tenant);
    expect(before).toHaveLength(20);
    const file = folder.join('one.snapshot');
    const kubeconfig = ['--kubeconfig', cluster.kubeconfig];
    // Saved online, while objects are written.
    const stop = new AbortController();
    const writing = (async () => {
      for (let i = 0; !stop.signal.aborted; i++)
        await client.create(configMaps, 'root' as LogicalClusterName, configMap(`during-${i}`));
    })();
    expect(await snapshot('save', file, ...kubeconfig)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/saved .*checksum correct/s),
    });
    stop.abort();
    await writing;
    expect((await snapshot('save', file, ...kubeconfig)).out).toContain('exists: name another file');
    expect((await snapshot('status', `${file}.none`)).out).toContain(`the file ${file}.none does not exist`);
    expect((await snapshot('status', file, '--resources')).out).toMatch(
      /^shard root, file, revision \d+.*\d+ {2}configmaps/s,
    );

    await using etcd = await EtcdServer.start();
    await cluster.process.stop();
    const target = ['--etcd-servers', etcd.endpoint];
    expect(await snapshot('restore', file, ...target)).toMatchObject({
      code: 0,
      out: expect.stringContaining('restored'),
    });
    expect((await snapshot('restore', file, ...target)).out).toContain('the store is not empty');
    await using onEtcd = await LocalCluster.start({ flags: target });
    const other = onEtcd.transport('shard-base');
    expect(await content(new RestClient({ transport: other }), tenant)).toEqual(before);
    await new RestClient({ transport: other }).create(configMaps, tenant, configMap('written-on-etcd'));
    other.close();
    await onEtcd.process.stop();

    const second = folder.join('two.snapshot');
    expect((await snapshot('save', second, ...target)).code).toBe(0);
    expect((await snapshot('restore', second, '--root-directory', cluster.path('root'))).out).toContain(
      'move it away first',
    );
    rmSync(cluster.path('root', 'data'), { recursive: true });
    expect((await snapshot('restore', second, '--root-directory', cluster.path('root'))).code).toBe(0);
    expect(readdirSync(cluster.path('root')).filter((name) => name.includes('restoring'))).toEqual([]);
    await cluster.process.start();
    const after = await content(client, tenant);
    expect(after).toHaveLength(before.length + 1);
    expect(after).toEqual(expect.arrayContaining(before));
    await createWorkspace(transport, 'root', 'after-restore');
  }, 240_000);

  test('a damaged file is not restored, and leaves nothing', async () => {
    const file = folder.join('broken.snapshot');
    writeFileSync(file, 'MPSNAP 1\n{"revision":5}\n');
    const target = folder.join('empty');
    expect(await snapshot('restore', file, '--root-directory', target)).toMatchObject({
      code: 1,
      out: expect.stringContaining('its end is missing'),
    });
    expect(existsSync(target)).toBe(false);
  });
});
