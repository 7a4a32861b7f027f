import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { clientConfigOf, readKubeconfig, type ClientConfig } from '../../packages/client/src/index.ts';
import { LocalCluster } from '../../e2e/harness/local-cluster.ts';
import { ShardedCluster } from '../../e2e/harness/sharded-cluster.ts';
import { deliberateFailures } from './deliberate-failures.ts';
import { goTestResults } from './go-test-results.ts';

const usage = `Runs kcp's own end-to-end tests against a control plane that is started for them.

Usage: hack/upstream/kcp --binaries FOLDER --sources FOLDER [flags] [package …]

  --binaries FOLDER    the compiled tests: \`go test -c -o FOLDER/<package>.test ./test/e2e/<package>\` of kcp 0.32, each slash
                       of a package a dash (virtual-apiexport.test)
  --sources FOLDER     kcp's sources: tests read files of their package and of the repository
  --profile NAME       sharded (the default), or all-in-one
  --run REGEX          only these tests
  --parallel N         tests at the same time within a package (2)
  --minutes N          a package that takes longer has failed (15)
  --out FOLDER         logs, one a package (.cache/upstream/kcp-<profile>)

Packages run one after the other; without names all of them. Failed tests run once more, alone. The exit status is 0 when only
tests fail that docs/compatibility.md lists.`;

const repository = join(import.meta.dirname, '..', '..');
const features = 'WorkspaceMounts=true,CacheAPIs=true,WorkspaceAuthentication=true,LogicalClusterMigration=true';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    binaries: { type: 'string' },
    sources: { type: 'string' },
    profile: { type: 'string', default: 'sharded' },
    run: { type: 'string' },
    parallel: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '15' },
    out: { type: 'string' },
  },
});

interface Started extends AsyncDisposable {
  readonly flags: readonly string[];
}

/** kcp's tests sign client certificates with RSA, by the authority `client-ca` in the folder of the kubeconfig. */
function makeClientAuthority(folder: string): string {
  const [key, certificate] = [join(folder, 'client-ca.key'), join(folder, 'client-ca.crt')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '7', '-subj', '/CN=kcp-e2e-client-ca'];
  execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  return certificate;
}

/** A kubeconfig as kcp's tests read it: they do not resolve paths in it. */
function selfContained(name: string, { server, ca, certificate, key }: ClientConfig): string {
  const data = (pem = ''): string => Buffer.from(pem).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': data(ca) } }],
    users: [{ name, user: { 'client-certificate-data': data(certificate), 'client-key-data': data(key) } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

const regions = ['us-east-2', 'us-west-1', 'eu-west-1'];

/** The users of kcp's tests. */
const tokens = [1, 2, 3, 4, 5].map((n) => `user-${n}-token,user-${n},${n},"team-${n}"`);

/** kcp's launcher gives all shards these labels, which partitions of its tests select. */
async function labelShards(cluster: ShardedCluster): Promise<void> {
  const transport = cluster.transport('base');
  for (const [index, shard] of cluster.shards.entries())
    await transport.json({
      method: 'PATCH',
      path: `/clusters/root/apis/core.kcp.io/v1alpha1/shards/${shard}`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ metadata: { labels: { region: regions[index % regions.length], shared: 'true' } } }),
    });
  transport.close();
}

/** Starts a control plane, and writes the files that kcp's tests expect where its own launcher has them. */
async function start(work: string): Promise<Started> {
  const folder = join(work, '.kcp');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const kubeconfig = join(folder, 'admin.kubeconfig');
  const authority = makeClientAuthority(folder);
  const common = [`--feature-gates=${features}`, '--webhook-allowed-networks=127.0.0.0/8'];
  if (values.profile === 'all-in-one') {
    const cluster = await LocalCluster.start({ tokens, flags: [...common, `--client-ca-file=${authority}`] });
    copyFileSync(cluster.kubeconfig, kubeconfig);
    for (const file of ['apiserver.crt', 'apiserver.key']) copyFileSync(cluster.path('root', file), join(folder, file));
    return { flags: [`-kcp-kubeconfig=${kubeconfig}`], [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
  }
  const cluster = await ShardedCluster.start({
    tokens,
    flags: common,
    frontProxyFlags: common,
    extraClientCa: authority,
    mappings: [{ path: '/e2e/clusters/{cluster}/', backend: 'https://localhost:2443' }],
  });
  copyFileSync(cluster.kubeconfig, kubeconfig);
  await labelShards(cluster);
  // Webhooks of the tests serve with this certificate, which the authority in the kubeconfig verifies.
  for (const end of ['crt', 'key'])
    copyFileSync(cluster.path('pki', 'front-proxy', `tls.${end}`), join(folder, `apiserver.${end}`));
  const copyKubeconfig = (name: string, context: string, to: string): string => {
    const from = cluster.path('pki', `${name}.kubeconfig`);
    const file = join(work, to);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, selfContained(context, clientConfigOf(readKubeconfig(from), from, context)), { mode: 0o600 });
    return file;
  };
  copyKubeconfig('cache', 'cache', '.kcp-cache/cache.kubeconfig');
  const shards = cluster.shards.map(
    (shard, index) => `${shard}=${copyKubeconfig(`shard-${shard}`, 'shard-base', `.kcp-${index}/admin.kubeconfig`)}`,
  );
  return {
    flags: [`-kcp-kubeconfig=${kubeconfig}`, `-shard-kubeconfigs=${shards.join(',')}`],
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** The folder of a package's sources: dashes of the name of the binary are slashes, or dashes. */
function sourcesOf(name: string, sources: string): string {
  const parts = name.split('-');
  for (let slashes = 0; slashes < parts.length; slashes++) {
    const folder = [...parts.slice(0, slashes), parts.slice(slashes).join('-')].join('/');
    const path = join(sources, 'test', 'e2e', folder);
    if (existsSync(path)) return path;
  }
  throw new Error(`${sources} has no package test/e2e/${name}`);
}

/** Runs one binary and returns what it printed. */
async function play(name: string, run: string | undefined, flags: readonly string[], log: string): Promise<string> {
  const output = openSync(log, 'w');
  const child = spawn(
    resolve(values.binaries as string, `${name}.test`),
    [
      '-test.v',
      `-test.parallel=${run === values.run ? values.parallel : 1}`,
      `-test.timeout=${values.minutes}m`,
      ...(run === undefined ? [] : [`-test.run=${run}`]),
      '-suites=control-plane',
      ...flags,
    ],
    {
      cwd: sourcesOf(name, resolve(values.sources as string)),
      stdio: ['ignore', output, output],
      // Tests that need a server of their own start ours.
      env: { ...process.env, NO_GORUN: '1', KCP_ASSET_KCP: join(import.meta.dirname, 'kcp-server') },
    },
  );
  const ended = Promise.withResolvers<void>();
  child.once('error', ended.reject).once('exit', () => ended.resolve());
  await ended.promise;
  closeSync(output);
  return readFileSync(log, 'utf8');
}

async function main(): Promise<void> {
  const { binaries, sources, profile } = values;
  if (values.help || binaries === undefined || sources === undefined || !/^(sharded|all-in-one)$/.test(profile)) {
    process.stdout.write(`${usage}\n`);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const names = readdirSync(binaries).flatMap((file) =>
    file.endsWith('.test') ? [file.slice(0, -'.test'.length)] : [],
  );
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`${binaries} has no ${unknown.join(', ')}; there are ${names.join(', ')}`);
  const out = resolve(values.out ?? join(repository, '.cache', 'upstream', `kcp-${profile}`));
  mkdirSync(out, { recursive: true });
  const deliberate = deliberateFailures(readFileSync(join(repository, 'docs', 'compatibility.md'), 'utf8'));
  process.stdout.write(`starting a control plane (${profile}) …\n`);
  await using cluster = await start(out);
  const failures: string[] = [];
  for (const name of positionals.length > 0 ? positionals : names) {
    const log = join(out, `${name}.log`);
    const began = Date.now();
    const results = goTestResults(await play(name, values.run, cluster.flags, log));
    const repeat = results.failed.filter((test) => !deliberate.has(test));
    const again =
      repeat.length === 0
        ? undefined
        : goTestResults(await play(name, `^(${repeat.join('|')})$`, cluster.flags, join(out, `${name}.again.log`)));
    const flaky = repeat.filter((test) => again?.passed.includes(test) === true);
    const failed = repeat.filter((test) => !flaky.includes(test));
    failures.push(...failed);
    if (!results.isComplete) failures.push(`${name} (ended early)`);
    const notes = [
      ...failed.map((test) => `FAILED ${test}`),
      ...flaky.map((test) => `passed alone: ${test}`),
      ...results.failed.filter((test) => deliberate.has(test)).map((test) => `deliberate: ${test}`),
      ...results.skipped.map((test) => `skipped: ${test}`),
      ...(results.isComplete ? [] : ['ENDED EARLY']),
    ];
    const counts = `${results.passed.length} passed, ${results.failed.length} failed, ${results.skipped.length} skipped`;
    process.stdout.write(`${name}: ${counts} (${((Date.now() - began) / 1000).toFixed(0)} s)\n`);
    for (const note of notes) process.stdout.write(`  ${note}\n`);
  }
  process.stdout.write(`logs: ${out}\n`);
  if (failures.length === 0) return;
  process.stdout.write(`failed: ${failures.join(', ')}\n`);
  process.exitCode = 1;
}

await main();
