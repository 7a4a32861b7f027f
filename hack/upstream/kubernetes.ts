import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually } from '../../packages/testing/src/index.ts';
import { LocalCluster, testTokens } from '../../e2e/harness/local-cluster.ts';
import { Requests } from '../../e2e/harness/requests.ts';
import { createWorkspace, grantAccess } from '../../e2e/harness/workspaces.ts';
import { ginkgoFocus } from './ginkgo-focus.ts';
import { ginkgoReport, type GinkgoResult } from './ginkgo-report.ts';
import { nativeKinds } from './native-kinds.ts';
import { missingFor } from './unrunnable.ts';

const usage = `Runs the end-to-end tests of Kubernetes that need no node against a workspace, to which the kinds of Kubernetes are added
as CustomResourceDefinitions.

Usage: hack/upstream/kubernetes --e2e FILE --kubectl FILE [flags]

  --e2e FILE           the compiled tests: \`go test -c -o FILE ./test/e2e\` of Kubernetes 1.36
  --kubectl FILE       kubectl of the same version
  --focus REGEX        only tests whose name matches
  --minutes N          ends the run after so many minutes (45)
  --out FOLDER         log and report (.cache/upstream/kubernetes)

Runs the tests of sig-api-machinery, sig-auth, sig-cli and sig-instrumentation, prints each with its result, and for those that it
does not run what they need. The exit status is 0 when all that ran passed.`;

const repository = join(import.meta.dirname, '..', '..');
const groups = /\[sig-(api-machinery|auth|cli|instrumentation)\]/;
const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    e2e: { type: 'string' },
    kubectl: { type: 'string' },
    focus: { type: 'string', default: '' },
    minutes: { type: 'string', default: '45' },
    out: { type: 'string', default: join(repository, '.cache', 'upstream', 'kubernetes') },
  },
});

/** Runs e2e.test with ginkgo flags and returns its report. */
async function ginkgo(name: string, kubeconfig: string, flags: readonly string[]): Promise<readonly GinkgoResult[]> {
  const report = join(values.out, `${name}.json`);
  const log = openSync(join(values.out, `${name}.log`), 'w');
  const child = spawn(
    resolve(values.e2e as string),
    [
      `--kubeconfig=${kubeconfig}`,
      '--provider=skeleton',
      `--kubectl-path=${resolve(values.kubectl as string)}`,
      '--allowed-not-ready-nodes=-1',
      '--minStartupPods=0',
      '--ginkgo.no-color',
      '--ginkgo.v',
      `--ginkgo.json-report=${report}`,
      ...flags,
    ],
    { cwd: values.out, stdio: ['ignore', log, log] },
  );
  const ended = Promise.withResolvers<void>();
  child.once('error', ended.reject).once('exit', () => ended.resolve());
  await ended.promise;
  closeSync(log);
  return ginkgoReport(readFileSync(report, 'utf8')).results;
}

/** Starts a control plane with a workspace for the tests; writes its kubeconfig. */
async function start(kubeconfig: string): Promise<LocalCluster> {
  const cluster = await LocalCluster.start({
    flags: ['--webhook-allowed-networks=127.0.0.0/8', '--service-account-issuer=https://kubernetes.default.svc'],
  });
  const admin = cluster.transport('shard-base');
  await createWorkspace(admin, 'root', 'e2e');
  await grantAccess(admin, 'root:e2e', ['system:anonymous', 'tester-csr']);
  admin.close();
  using requests = new Requests(cluster, '/clusters/root:e2e');
  const definitions = nativeKinds();
  for (const body of definitions)
    await requests.must({ method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body });
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
  const status = { conditions: [{ type: 'Ready', status: 'True' }], addresses };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node' }, spec: {} };
  await eventually(() => requests.must({ method: 'POST', path: '/api/v1/nodes', body: node }));
  await requests.must({
    method: 'PATCH',
    path: '/api/v1/nodes/node/status',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status },
  });
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes' },
    spec: { clusterIP: '10.0.0.1', ports: [{ port: 443 }] },
  };
  await eventually(() => requests.must({ method: 'POST', path: '/api/v1/namespaces/default/services', body: service }));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'e2e',
        cluster: {
          server: `${cluster.url}/clusters/root:e2e`,
          'certificate-authority-data': Buffer.from(cluster.ca).toString('base64'),
        },
      },
    ],
    users: [{ name: 'e2e', user: { token: testTokens.masters } }],
    contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: 'e2e' } }],
    'current-context': 'e2e',
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return cluster;
}

async function main(): Promise<void> {
  if (values.help || values.e2e === undefined || values.kubectl === undefined) {
    process.stdout.write(`${usage}\n`);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  mkdirSync(values.out, { recursive: true });
  const kubeconfig = join(values.out, 'kubeconfig');
  await using _cluster = await start(kubeconfig);
  const all = (await ginkgo('list', kubeconfig, ['--ginkgo.dry-run', `--ginkgo.focus=${groups.source}`])).filter(
    ({ name }) => new RegExp(values.focus).test(name),
  );
  const chosen = all.filter(({ name }) => missingFor(name) === undefined);
  process.stdout.write(`running ${chosen.length} of ${all.length} tests …\n`);
  const focus = ginkgoFocus(chosen.map(({ name }) => name));
  const results = await ginkgo('run', kubeconfig, [`--ginkgo.timeout=${values.minutes}m`, `--ginkgo.focus=${focus}`]);
  const byName = new Map(results.map((result) => [result.name, result]));
  const failed: string[] = [];
  for (const { name } of all.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const need = missingFor(name);
    const { state = 'did not run', message = '' } = byName.get(name) ?? {};
    if (need === undefined && state !== 'passed' && state !== 'skipped') failed.push(name);
    const result = need === undefined ? state : `needs ${need}`;
    process.stdout.write(`${result}: ${name}\n`);
    if (need === undefined && state !== 'passed' && message !== '')
      process.stdout.write(`  ${message.slice(0, 400).replaceAll('\n', '\n  ')}\n`);
  }
  process.stdout.write(
    `${results.filter(({ state }) => state === 'passed').length} passed, ${failed.length} failed; log: ${join(values.out, 'run.log')}\n`,
  );
  if (failed.length > 0) process.exitCode = 1;
}

await main();
