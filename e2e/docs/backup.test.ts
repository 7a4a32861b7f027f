import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createWithRetry, TempDir } from '@multiplane/testing';
import { repository } from '../harness/foreign-program.ts';
import { LocalCluster } from '../harness/local-cluster.ts';
import { createWorkspace } from '../harness/workspaces.ts';

/** The commands of "Backup" in docs/operate.md that are for one process, as they are written but for where the kubeconfig is. */
const page = readFileSync(join(repository, 'docs', 'operate.md'), 'utf8');
const section = /^## Backup$(.*?)^## /ms.exec(page)?.[1] ?? '';
const commands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)]
  .flatMap(([, block = '']) => block.split('\n'))
  .map((line) => line.replace(/\s+#.*$/, ''))
  .filter((line) => line !== '' && !line.includes('sharded'));

describe('the commands of "Backup" in operate.md', () => {
  let cluster: LocalCluster;
  let folder: TempDir;
  beforeAll(async () => {
    [cluster, folder] = await Promise.all([LocalCluster.start(), TempDir.create('backup')]);
    const admin = cluster.transport('shard-base');
    await createWithRetry(() => createWorkspace(admin, 'root', 'team'));
    admin.close();
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await folder?.remove();
  });

  test('exist', () => {
    expect(commands.length).toBeGreaterThan(5);
  });

  test.each(commands)('%s', async (command) => {
    const line = command.replace('.multiplane/admin.kubeconfig', cluster.kubeconfig);
    const env = { ...process.env, PATH: `${join(repository, 'bin')}${delimiter}${process.env['PATH'] ?? ''}` };
    const { stdout } = await promisify(execFile)('sh', ['-ec', line], { cwd: folder.path, env });
    expect(stdout).not.toBe('');
  });
});
