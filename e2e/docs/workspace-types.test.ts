import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { describeWithKubectl } from '../harness/kubectl.ts';
import { LocalCluster } from '../harness/local-cluster.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'workspace-types.md'), 'utf8');
const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ''], index) => ({
  block,
  title: `${index + 1}: ${block.split('\n', 1)[0] ?? ''}`,
}));

test('the page about workspace types has commands', () => {
  expect(blocks.length).toBeGreaterThan(5);
});

describeWithKubectl('the commands of the page about workspace types', () => {
  let cluster: LocalCluster;
  let home: TempDir;
  beforeAll(async () => {
    [cluster, home] = await Promise.all([LocalCluster.start(), TempDir.create('docs')]);
  }, 90_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await home?.remove();
  });

  test.each(blocks)(
    '$title',
    async ({ block }) => {
      const env = { PATH: process.env['PATH'], HOME: home.path, KUBECONFIG: cluster.kubeconfig };
      const { stdout } = await promisify(execFile)('sh', ['-e', '-c', block], { env, timeout: 55_000 });
      expect(stdout).not.toBe('');
    },
    60_000,
  );
});
