import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { describeWith, programOnPath, repository } from '../harness/foreign-program.ts';
import { describeWithKubectl, documents, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';
import { gitOpsInstallation } from '../fixtures/git-ops-installation.ts';

const run = promisify(execFile);
const exportNames = 'jsonpath={.items[*].spec.reference.export.name}';

describeWithKubectl('kinds of Kubernetes that root exports', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  beforeAll(async () => {
    workspace = await KubectlWorkspace.start({ nativeKinds: true });
    kubectl = workspace.kubectl;
    await kubectl.ok(['kcp', 'bind', 'native-kinds', '--timeout=60s']);
  }, 240_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('one command binds them, and says what it does not know', async () => {
    const kinds = (await kubectl.ok(['api-resources', '-o', 'name'])).split('\n');
    expect(kinds).toEqual(
      expect.arrayContaining(['pods', 'services', 'deployments.apps', 'ingresses.networking.k8s.io', 'cronjobs.batch']),
    );
    expect(kinds.filter((name) => name === 'configmaps')).toHaveLength(1);
    // It can be repeated.
    expect(await kubectl.ok(['kcp', 'bind', 'native-kinds', '--group', 'policy,apps'])).toBe(
      'policy: poddisruptionbudgets\n' +
        'apps: controllerrevisions, daemonsets, deployments, replicasets, statefulsets\n',
    );
    const { code, stderr } = await kubectl.run(['kcp', 'bind', 'native-kinds', '--group', 'extensions']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('no native kinds in group "extensions"; the groups are core, apps, ');
  });

  test('a workspace of the type kubernetes has them all', async () => {
    const said = await kubectl.ok(['create', 'workspace', 'typed', '--type=root:kubernetes']);
    expect(said).toContain('Workspace "typed" (type root:kubernetes) is ready to use.');
    const server = `--server=${workspace.server}:typed`;
    const own = (await kubectl.ok(['get', 'apibindings', '-o', exportNames])).split(' ').toSorted();
    const theirs = (await kubectl.ok(['get', 'apibindings', server, '-o', exportNames])).split(' ').toSorted();
    expect(theirs).toEqual(own);
    expect(await kubectl.ok(['get', 'deployments,cronjobs,storageclasses', server, '-o', 'name'])).toBe('');
  });

  test('get all, cluster-info, create deployment, rollout history, scale, explain', async () => {
    expect(await kubectl.ok(['cluster-info'])).toMatch(/control plane.* is running at/);
    await kubectl.ok(['create', 'deployment', 'web', '--image=web:1', '--replicas=2']);
    await kubectl.ok(['expose', 'deployment', 'web', '--port=80']);
    // Of autoscaling/v1 or v2, as the version of kubectl has it.
    await kubectl.ok(['autoscale', 'deployment', 'web', '--min=1', '--max=3', '--cpu-percent=50']);
    const target = 'jsonpath={.spec.metrics[0].resource.target.averageUtilization}';
    expect(await kubectl.ok(['get', 'hpa.v2.autoscaling', 'web', '-o', target])).toBe('50');
    const base = new URL(workspace.server).pathname;
    const old = await kubectl.ok([
      'get',
      '--raw',
      `${base}/apis/autoscaling/v1/namespaces/e2e/horizontalpodautoscalers/web`,
    ]);
    expect(JSON.parse(old)).toMatchObject({ spec: { targetCPUUtilizationPercentage: 50 } });
    expect(await kubectl.ok(['rollout', 'history', 'deployment/web'])).toMatch(/^deployment\.apps\/web/);
    await kubectl.ok(['scale', 'deployment', 'web', '--replicas=4']);
    const all = await kubectl.ok(['get', 'all']);
    expect(all).toMatch(/^deployment\.apps\/web +0\/4 /m);
    expect(all).toMatch(/^service\/web +ClusterIP .* 80\/TCP /m);
    expect(all).toMatch(/^horizontalpodautoscaler\.autoscaling\/web +Deployment\/web /m);
    expect(await kubectl.ok(['explain', 'deployment.spec.template.spec.containers'])).toMatch(/FIELD: containers/);
  });

  test('apply --prune knows the kinds without an allow-list', async () => {
    const labels = { app: 'pruned' };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', labels } };
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'gone', labels },
      spec: { ports: [{ port: 1 }] },
    };
    const apply = (...objects: object[]): Promise<string> =>
      kubectl.ok(['apply', '--prune', '-l', 'app=pruned', '-f', '-'], { stdin: documents(...objects) });
    await apply(map, service);
    expect(await apply(map)).toContain('service/gone pruned');
  });

  test('values are checked and defaulted as the schemas of Kubernetes say', async () => {
    const service = (port: object) =>
      documents({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'checked' }, spec: { ports: [port] } });
    const refused = await kubectl.run(['create', '-f', '-'], { stdin: service({ protocol: 'TCP' }) });
    expect(refused.stderr).toContain('spec.ports[0].port: Required value');
    await kubectl.ok(['create', '-f', '-'], { stdin: service({ port: 1 }) });
    expect(await kubectl.ok(['get', 'service', 'checked', '-o', 'jsonpath={.spec.ports[0].protocol}'])).toBe('TCP');
    // Kubernetes admits a variable twice: the last one counts.
    const env = ['1', '2'].map((value) => ({ name: 'TWICE', value }));
    const spec = { containers: [{ name: 'a', image: 'a:1', env }] };
    expect(await kubectl.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'twice' }, spec })).toContain(
      'pod/twice created',
    );
  });

  test('what installs Argo CD and Flux applies, on the client and on the server', async () => {
    await kubectl.ok(['apply', '-f', '-'], { stdin: documents(...gitOpsInstallation) });
    const again = await kubectl.ok(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
      stdin: documents(...gitOpsInstallation),
    });
    expect(again.trim().split('\n')).toHaveLength(gitOpsInstallation.length);
    expect(await kubectl.ok(['get', 'deployments,networkpolicies', '-n', 'git-ops', '-o', 'name'])).toBe(
      'deployment.apps/controller\nnetworkpolicy.networking.k8s.io/allow-egress\n',
    );
  });

  describeWith(programOnPath('helm', 'version', '--short'), 'charts', (helm) => {
    let folder: TempDir;
    beforeAll(async () => {
      folder = await TempDir.create('charts');
    });
    afterAll(() => folder?.[Symbol.asyncDispose]());

    test.each([
      // What `helm create` writes is what most public charts began as.
      ['starter', undefined, ['--set=ingress.enabled=true']],
      ['scaled', undefined, ['--set=autoscaling.enabled=true']],
      ['chart', join(repository, 'e2e', 'clients', 'helm', 'chart'), []],
    ])('helm installs %s', async (name, path, values) => {
      const inFolder = (...args: string[]) =>
        run(helm, args, {
          cwd: folder.path,
          env: { PATH: process.env['PATH'], HOME: folder.path, KUBECONFIG: kubectl.kubeconfig },
        });
      if (path === undefined) await inFolder('create', name);
      const { stdout } = await inFolder('install', name, path ?? `./${name}`, ...values);
      expect(stdout).toMatch(/STATUS: deployed/);
    });
  });
});
