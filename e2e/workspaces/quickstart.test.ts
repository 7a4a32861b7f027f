import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';

describeWithKubectl('kubectl kcp quickstart', () => {
  let cluster: ControlPlane;
  let kubectl: Kubectl;
  const quickstart = (...flags: string[]): Promise<string> => kubectl.ok(['kcp', 'quickstart', ...flags]);

  beforeAll(async () => {
    cluster = await startControlPlane();
    kubectl = await Kubectl.create({ copyOf: cluster.kubeconfig });
  }, 180_000);
  afterAll(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('makes a provider and a consumer of an API, and goes there', async () => {
    const said = await quickstart('--with-samples', '--enter');
    expect(said).toContain('Setting up "api-provider" scenario with prefix "quickstart"...\n\nStep 1/7: ');
    expect(said).toContain(
      '  Workspace "quickstart-consumer" created and ready at root:quickstart-org:quickstart-consumer\n',
    );
    expect(said).toContain('  APIBinding "cowboys" created and bound\n');
    expect(said).toContain('  Cowboy "john-wayne" created\n');
    expect(said).toContain('            +-- APIBinding: cowboys -> root:quickstart-org:quickstart-provider:cowboys\n');
    expect(said.split('\n').at(-2)).toBe(
      "Current workspace is 'root:quickstart-org:quickstart-consumer' (type root:universal).",
    );
    expect(await kubectl.ok(['get', 'cowboys', '-o', 'name'])).toBe('cowboy.wildwest.dev/john-wayne\n');
  }, 120_000);

  test('does nothing twice', async () => {
    const said = await quickstart('--with-samples');
    expect(said.match(/already exists/g)).toHaveLength(7);
    expect(said).not.toContain(' created and ');
  }, 120_000);

  test('takes everything away again', async () => {
    const said = await quickstart('--cleanup');
    expect(said).toContain('Deleting organization workspace "quickstart-org" (cascades provider and consumer)...\n');
    expect(said).toMatch(/\nCleanup complete\.\nCurrent workspace is 'root' \(type root\)\.\n$/);
    expect(await kubectl.fails(['get', 'workspace', 'quickstart-org'])).toContain('NotFound');
    expect(await quickstart('--cleanup')).toContain('Cleanup complete.');
  }, 120_000);

  test('grows a tree of workspaces', async () => {
    const said = await quickstart(
      '--scenario',
      'workspaces',
      '--name-prefix',
      'wood',
      '--tree-count',
      '12',
      '--tree-seed',
      '5',
    );
    expect(said).toContain('Step 2/2: Creating 12 workspaces (max depth 3, seed 5)...\n');
    expect(said).toMatch(/ {2}Progress: 12\/12 workspaces created \(\d+\.\d ws\/s, depth so far: [123]\)\n/);
    await kubectl.ok(['ws', ':root:wood-org']);
    const tree = await kubectl.ok(['ws', 'tree']);
    expect(tree.match(/wood-ws-\d+/g)).toHaveLength(12);
    expect(await kubectl.ok(['get', 'workspaces', '--selector=kcp.io/quickstart-prefix=wood', '-o', 'name'])).toContain(
      'workspace.tenancy.kcp.io/wood-ws-',
    );
    await kubectl.ok(['kcp', 'quickstart', '--scenario', 'workspaces', '--name-prefix', 'wood', '--cleanup']);
  }, 180_000);

  test('says what to do when no server answers', async () => {
    const failure = await kubectl.fails(['kcp', 'quickstart', '--server', 'https://127.0.0.1:1/clusters/root']);
    expect(failure).toContain('Cannot reach the control plane at https://127.0.0.1:1.');
    expect(failure).toMatch(
      /\nerror: step 1\/6 failed: The connection to the server 127\.0\.0\.1:1 was refused - did you specify the right host or port\?\n$/,
    );
  });
});
