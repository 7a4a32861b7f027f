import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { eventually, TempDir } from '@multiplane/testing';
import { startTestingServer, type TestingServer } from '@multiplane/testing-server';
import { repository } from '../harness/foreign-program.ts';

const command = [join(repository, 'bin', 'multiplane')];
const configMap = (data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'note' },
  data,
});

/** Whether a server answers at the URL. */
const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    // One that does not trust the certificate has an answer.
    (error: unknown) => (error as { cause?: { code?: string } }).cause?.code !== 'ECONNREFUSED',
  );

describe('in a test', () => {
  let server: TestingServer;
  beforeAll(async () => {
    server = await startTestingServer({ command });
  });
  afterAll(() => server?.stop());

  test('creates workspaces, applies objects and reads them', async () => {
    const workspace = await server.createWorkspace('root:provider');
    await workspace.apply(configMap({ a: '1' }));
    const [changed] = await workspace.apply(configMap({ a: '2' }));
    expect(changed).toMatchObject({ metadata: { namespace: 'default' }, data: { a: '2' } });
    expect(await workspace.get('v1/configmaps', 'note', 'default')).toMatchObject({ data: { a: '2' } });
    await workspace.delete('v1/configmaps', 'note', 'default');
    await expect(workspace.get('v1/configmaps', 'note', 'default')).rejects.toThrow('not found');
    await expect(server.createWorkspace('provider')).rejects.toThrow('invalid workspace "provider"');
  });

  test('applies the kinds of a file, and those that it defines', async () => {
    const workspace = await server.createWorkspace('root:file');
    await workspace.applyFile(join(repository, 'docs', 'examples', 'cowboy-crd.yaml'));
    const cowboy = { apiVersion: 'wildwest.dev/v1alpha1', kind: 'Cowboy', spec: { intent: 'good' } };
    const [applied] = await workspace.apply({ ...cowboy, metadata: { name: 'woody' } });
    expect(applied).toMatchObject({ metadata: { name: 'woody', namespace: 'default' }, spec: { intent: 'good' } });
    const kubectl = join(repository, 'bin', 'kubectl-ws');
    const { stdout } = await promisify(execFile)(kubectl, ['current', '--kubeconfig', workspace.kubeconfig]);
    expect(stdout).toContain('root:file');
  });
});

test('it ends, and nothing is left of it', async () => {
  const server = await startTestingServer({ command });
  expect(await answers(server.url)).toBe(true);
  expect(server.log).toContain('ready');
  await server.stop();
  expect(await answers(server.url)).toBe(false);
  expect(existsSync(dirname(dirname(server.kubeconfig)))).toBe(false);
});

test('a start that fails says why, and leaves nothing', async () => {
  await expect(startTestingServer({ command, flags: ['--no-such-flag'] })).rejects.toThrow(/unknown .*--no-such-flag/s);
  await expect(startTestingServer({ command: ['/no/such/multiplane'] })).rejects.toThrow(/not found/);
});

describe('another process that starts it', () => {
  let folder: TempDir;
  beforeAll(async () => {
    folder = await TempDir.create('testing-server');
  });
  afterAll(() => folder.remove());

  const library = join(repository, 'packages', 'testing-server', 'dist', 'index.js');
  const started = `import { startTestingServer } from ${JSON.stringify(library)};
const server = await startTestingServer({ command: ${JSON.stringify(command)} });
`;

  test.each(['SIGKILL', 'SIGTERM'] as const)('leaves nothing when it dies by %s', async (signal) => {
    const script = folder.join(`${signal}.mjs`);
    writeFileSync(
      script,
      `${started}console.log(JSON.stringify([server.url, server.kubeconfig]));\nsetInterval(() => {}, 1000);\n`,
    );
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const [url = '', kubeconfig = ''] = JSON.parse(line.toString()) as string[];
    expect(await answers(url)).toBe(true);
    child.kill(signal);
    await eventually(async () => {
      expect(await answers(url)).toBe(false);
      expect(existsSync(dirname(dirname(kubeconfig)))).toBe(false);
    });
  });

  test('ends although it never stops the server', async () => {
    const script = folder.join('forgets.mjs');
    writeFileSync(script, `${started}console.log(server.url);\n`);
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    await eventually(async () => expect(await answers(stdout.trim())).toBe(false));
  });

  test('is a test of node:test', async () => {
    const script = folder.join('runner.test.mjs');
    writeFileSync(
      script,
      `import test from 'node:test';\n${started}test('serves', async () => {
  await server.createWorkspace('root:tested');
  await server.stop();
});\n`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', script], {
      env: { PATH: process.env['PATH'] ?? '' },
    });
    expect(stdout).toContain('# pass 1');
  });
});
