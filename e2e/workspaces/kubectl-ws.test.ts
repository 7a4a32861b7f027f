import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { configMap, gadget, defineGadgets } from '../fixtures/gadgets.ts';
import { describeWithKubectl, Kubectl, plugins } from '../harness/kubectl.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane, topologyName } from '../harness/start-control-plane.ts';

/** Trees stay on one shard by default; these go there and back. */
const [here, there] = (topologyName === 'sharded' ? ['root', 'shard-1'] : ['root', 'root']).map((shard) => [
  '--location-selector',
  `name=${shard}`,
]) as [string[], string[]];

describeWithKubectl('kubectl ws', () => {
  let cluster: ControlPlane;
  let kubectl: Kubectl;
  const ws = (...args: string[]): Promise<string> => kubectl.ok(['ws', ...args]);
  /** Without the type, which is shown only where it is known. */
  const goTo = async (...args: string[]): Promise<string> => (await ws(...args)).replaceAll(/ \(type \S+\)/g, '');

  beforeAll(async () => {
    cluster = await startControlPlane();
    kubectl = await Kubectl.create({ copyOf: cluster.kubeconfig });
    await ws('create', 'a', ...here);
    await ws('create', 'ab');
    await ws('a');
    await ws('create', 'b', ...there);
    await ws('create', 'c', ...here);
    await ws('b');
    await ws('create', 'deep', ...here);
    await ws(':root');
  }, 180_000);

  afterAll(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('goes down, up, back, to the top and to absolute paths, and says where it is', async () => {
    expect(await goTo('.')).toBe("Current workspace is 'root'.\n");
    expect(await goTo('a')).toBe("Current workspace is 'root:a'.\n");
    expect(await goTo('b:deep')).toBe("Current workspace is 'root:a:b:deep'.\n");
    expect(await ws('.', '--short')).toBe('root:a:b:deep\n');
    expect(await ws('current', '--short')).toBe('root:a:b:deep\n');
    expect(await goTo('..')).toBe("Current workspace is 'root:a:b'.\n");
    expect(await goTo('-')).toBe("Current workspace is 'root:a:b:deep'.\n");
    expect(await goTo('-')).toBe("Current workspace is 'root:a:b'.\n");
    expect(await goTo('..:c')).toBe("Current workspace is 'root:a:c'.\n");
    expect(await goTo(':root:a')).toBe("Current workspace is 'root:a'.\n");
    expect(await goTo('use', 'c')).toBe("Current workspace is 'root:a:c'.\n");
    expect(await goTo(':')).toBe("Current workspace is 'root'.\n");
    expect(await goTo('/root/a/b')).toBe("Current workspace is 'root:a:b'.\n");
    expect(await kubectl.run(['ws', 'root:a'])).toMatchObject({
      code: 0,
      stderr:
        "Note: Using 'root:' to define an absolute path is no longer supported. Instead, use ':root' to specify an absolute path.\n",
    });
    expect(await goTo(':root')).toBe("Current workspace is 'root'.\n");
  });

  test('refuses what is above the root, malformed or not there, and stays', async () => {
    expect(await kubectl.fails(['ws', '..'])).toBe('Error: invalid workspace path: ..\n');
    expect(await kubectl.fails(['ws', 'Bad Name'])).toBe('Error: invalid workspace path: Bad Name\n');
    for (const missing of ['nope', ':root:nope', 'a:nope:b'])
      expect(await kubectl.fails(['ws', missing])).toMatch(
        /^Error: (workspace "\S+" not found|the server could not find the requested resource)\n$/,
      );
    expect(await goTo('.')).toBe("Current workspace is 'root'.\n");
  });

  test('each move is what kubectl itself then works on', async () => {
    await ws(':root:a:b');
    await kubectl.ok(['create', 'namespace', 'only-in-b']);
    expect(await kubectl.ok(['get', 'workspaces', '-o', 'name'])).toBe('workspace.tenancy.kcp.io/deep\n');
    await ws(':root:a:c');
    expect(await kubectl.fails(['get', 'namespace', 'only-in-b'])).toContain('NotFound');
    expect(await kubectl.ok(['config', 'current-context'])).toBe('workspace.kcp.io/current\n');
    await ws(':root');
  });

  test('tree draws the workspaces below', async () => {
    expect(await ws('tree')).toBe(
      '.\n└── root\n    ├── a\n    │   ├── b\n    │   │   └── deep\n    │   └── c\n    └── ab\n\n'.replace(
        /\n\n$/,
        '\n',
      ),
    );
    await ws('a');
    expect(await ws('tree', '--full')).toBe(
      '.\n└── root:a\n    ├── root:a:b\n    │   └── root:a:b:deep\n    └── root:a:c\n',
    );
    await ws(':root');
  });

  test('list shows the children, and misspelt names get a suggestion', async () => {
    expect(await ws('list')).toMatch(/^NAME +TYPE +PHASE +REASON\na +root:\S+ +Ready *\nab +root:\S+ +Ready *\n/);
    expect(await ws('ls', 'a', '--short')).toBe('b\nc\n');
    expect(await ws('ls', ':root:a:b', '--short')).toBe('deep\n');
    expect(await kubectl.fails(['ws', 'ls', 'a:dep'])).toMatch(/^Error: workspace "root:a:dep" not found\n/);
    expect(await kubectl.fails(['ws', 'a:b:dep'])).toBe(
      'Error: workspace "root:a:b:dep" not found\n\nDid you mean this?\n\tdeep\n',
    );
    expect(await kubectl.fails(['ws', 'tre'])).toContain('Did you mean this?\n\ttree\n');
    expect(await kubectl.fails(['kcp', 'bnid'])).toBe(
      'error: unknown command "bnid" for "kubectl kcp"; see kubectl kcp --help\n\nDid you mean this?\n\tbind\n',
    );
  });

  test('version and doctor', async () => {
    expect(await kubectl.ok(['kcp', 'version'])).toMatch(
      /^Client Version: (\S+)\nServer Version: v\d+\.\d+\.\d+\+multiplane-\1\n$/,
    );
    const lines = (await kubectl.ok(['kcp', 'doctor', '-w', ':root:a'])).split('\n');
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^\[ok\] +workspace: root:a is Ready$/)]));
    expect(lines).toEqual(expect.arrayContaining([expect.stringMatching(/^\[ok\] +server certificate: valid until /)]));
    const missing = await kubectl.run(['kcp', 'doctor', '-w', ':root:nope']);
    expect(missing).toMatchObject({ code: 1, stderr: 'error: the doctor found 1 error\n' });
    expect(missing.stdout).toMatch(/^\[error\] +workspace: root:nope does not exist, .*\n +→ /m);
  });

  test('kubectl completes the plugins with the names of the server', async () => {
    const completed = async (...words: string[]): Promise<string[]> => {
      const lines = (await kubectl.ok(['__complete', ...words])).trimEnd().split('\n');
      return lines.map((line) => line.split('\t')[0] as string);
    };
    expect(await completed('ws', '')).toEqual(expect.arrayContaining(['tree', 'list', 'a', 'ab', ':4']));
    expect(await completed('ws', 'a')).toEqual(['a', 'ab', ':4']);
    expect(await completed('ws', 'a:b:')).toEqual(['a:b:deep', ':4']);
    expect(await completed('ws', 'list', ':root:a:')).toEqual([':root:a:b', ':root:a:c', ':4']);
    expect(await completed('ws', 'tree', '--wor')).toEqual(['--workspace', ':4']);
    expect(await completed('ws', 'tree', '--workspace', 'ab')).toEqual(['ab', ':4']);
    expect(await completed('ws', 'tree', '--workspace=ab')).toEqual(['--workspace=ab', ':4']);
    expect(await completed('kcp', 'claims', 'accept', '-w', ':root', 'ten')).toEqual(['tenancy.kcp.io', ':4']);
    expect(await completed('kcp', 'bind', 'apiexport', 'root:to')).toEqual(['root:topology.kcp.io', ':6']);
    expect(await completed('create-workspace', 'x', '--type', 'uni')).toEqual(['universal', ':4']);
    expect(await completed('ws', '--context', 'work')).toEqual(
      expect.arrayContaining(['workspace.kcp.io/current', ':4']),
    );
    expect(await completed('ws', '--server', 'https://localhost:1/clusters/root', '')).toContain('tree');
  });

  test('create says what happens, refuses a second of the name, and enters when asked', async () => {
    // As kcp's: it works on, and says what is to be used instead.
    expect(await kubectl.fails(['ws', 'create', 'a'])).toBe(
      `Command "create" is deprecated, use 'kubectl create workspace' instead.\nError: workspaces.tenancy.kcp.io "a" already exists\n`,
    );
    expect(await kubectl.fails(['ws', 'create', 'Upper'])).toContain('metadata.name in body should match');
    expect(await ws('create', 'a', '--ignore-existing')).toMatch(/^Workspace "a"( \(type \S+\))? already exists\.\n/);
    expect((await goTo('create', 'entered', '--enter')).split('\n').at(-2)).toBe(
      "Current workspace is 'root:entered'.",
    );
    await ws(':root');
  });

  test('exits silently on a closed pipe', async () => {
    // It starts only once there is certainly no reader any more.
    const child = spawn('sh', ['-c', `read go; exec ${join(plugins, 'kubectl-ws')} --help`]);
    const ended = once(child, 'close');
    let said = '';
    child.stderr.on('data', (chunk) => (said += String(chunk)));
    child.stdout.destroy();
    await once(child.stdout, 'close');
    child.stdin.end('go\n');
    expect(await ended).toEqual([141, null]);
    expect(said).toBe('');
  });

  test('create-context keeps a workspace as a context', async () => {
    await ws('a');
    expect(await ws('create-context', 'mine')).toBe('Created context "mine" and switched to it.\n');
    expect(await kubectl.fails(['ws', 'create-context', 'mine'])).toBe(
      'Error: context "mine" already exists in kubeconfig, use --overwrite to update it\n',
    );
    expect(await kubectl.ok(['config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}'])).toBe(
      `${cluster.url}/clusters/root:a`,
    );
    await ws(':root');
  });

  test('a deleted workspace is emptied, its children with it, and its name can be used again', async () => {
    await ws('create', 'doomed', '--enter', ...here);
    await defineGadgets(kubectl);
    await kubectl.ok(['create', 'namespace', 'work']);
    await kubectl.create(
      configMap('inside', { a: '1' }, { namespace: 'work' }),
      gadget('inside', {}, { namespace: 'work' }),
    );
    await ws('create', 'child', '--enter', ...there);
    await kubectl.ok(['create', 'namespace', 'nested']);
    await ws(':root');
    const logicalCluster = (name: string): Promise<string> =>
      kubectl.ok(['get', 'workspace', name, '-o', 'jsonpath={.spec.cluster}']);
    const before = await logicalCluster('doomed');
    expect(before).toMatch(/^[a-z0-9]{16}$/);

    expect(await kubectl.ok(['delete', 'workspace', 'doomed', '--timeout=30s'])).toBe(
      'workspace.tenancy.kcp.io "doomed" deleted\n',
    );
    expect(await kubectl.fails(['ws', 'doomed'])).toMatch(/not found|could not find/);
    expect(await ws('tree')).not.toContain('doomed');
    const shards = cluster.shardTransports();
    try {
      for (const shard of shards) {
        for (const path of [
          '/api/v1/namespaces',
          '/api/v1/configmaps',
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
          '/apis/core.kcp.io/v1alpha1/logicalclusters',
        ]) {
          expect(await shard.json({ method: 'GET', path: `/clusters/${before}${path}` })).toMatchObject({ items: [] });
        }
        // Also below the tenant that is gone: no object of it or of its child is left anywhere on any shard.
        await eventually(async () => {
          const namespaces = await shard.json({ method: 'GET', path: '/clusters/*/api/v1/namespaces' });
          expect(JSON.stringify(namespaces)).not.toMatch(/"name":"(work|nested)"/);
        });
      }
    } finally {
      for (const shard of shards) shard.close();
    }

    await ws('create', 'doomed');
    expect(await logicalCluster('doomed')).not.toBe(before);
    await ws('doomed');
    expect(await kubectl.fails(['get', 'namespace', 'work'])).toContain('NotFound');
    expect(await kubectl.fails(['get', 'gadgets', '-A'])).toMatch(
      /doesn't have a resource type|could not find the requested resource/,
    );
    expect(await kubectl.ok(['get', 'workspaces', '-o', 'name'])).toBe('');
    await ws(':root');
  }, 240_000);

  test('a finalizer inside holds the deletion until it is removed', async () => {
    await ws('create', 'held', '--enter');
    await kubectl.ok(['create', 'namespace', 'work']);
    await kubectl.create(configMap('holder', {}, { namespace: 'work', finalizers: ['e2e.example.com/hold'] }));
    const base = `${cluster.url}/clusters/${await kubectl.ok(['get', 'workspace', 'held', '--server', `${cluster.url}/clusters/root`, '-o', 'jsonpath={.spec.cluster}'])}`;
    await ws(':root');
    await kubectl.ok(['delete', 'workspace', 'held', '--wait=false']);
    await kubectl
      .ok(['wait', '--for=jsonpath={.status.phase}=Deleting', 'workspace/held', '--timeout=10s'])
      .catch(() => kubectl.ok(['get', 'workspace', 'held']));
    expect(await kubectl.ok(['get', 'workspace', 'held', '-o', 'jsonpath={.metadata.deletionTimestamp}'])).not.toBe('');
    await using gone = kubectl.start(['wait', '--for=delete', 'workspace/held', '--timeout=30s']);
    const admin = cluster.transport('shard-base');
    await admin.json({
      method: 'PATCH',
      path: `${new URL(base).pathname}/api/v1/namespaces/work/configmaps/holder`,
      contentType: 'application/merge-patch+json',
      body: '{"metadata":{"finalizers":null}}',
    });
    admin.close();
    expect((await gone.ended()).code).toBe(0);
  }, 120_000);
});
