import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary } from '../../packages/testing/src/index.ts';
import { clientArguments, type ClientArguments } from './client-arguments.ts';
import { clientSuites } from './client-suites.ts';
import { deliberateFailures } from './deliberate-failures.ts';
import { packagesOf, playGoSuite } from './go-suite.ts';
import { runCommand } from './run-command.ts';
import { suiteUsage } from './suite-arguments.ts';
import { startSuiteControlPlane, type SuiteControlPlane } from './suite-control-plane.ts';

const usage = `Runs the end-to-end tests of a client of kcp against a control plane that is started for them.

Usage: hack/upstream/clients --client NAME --sources FOLDER [flags] [package …]

  --client NAME        ${Object.keys(clientSuites).join(', ')}
  --sources FOLDER     its sources, from which tests read files
  --binaries FOLDER    the compiled tests, and the program that they start (_build of the sources):
                       \`go test -c -tags e2e -o FOLDER/ ./test/e2e/...\`, \`go build -o FOLDER/ ./cmd/<client>\`
  --assets FOLDER      kube-apiserver, and etcd if it is in no folder of the PATH; api-syncagent needs them
${suiteUsage}
  --out FOLDER         logs of the tests and of the programs they start (.cache/upstream/<client>-<profile>)

Packages run one after the other; without names all of them. Failed tests run once more, alone. The exit status is 0 when only
tests fail that docs/compatibility.md lists.`;

/** The version of kcp that tests expect. */
const kcpVersion = '0.32.3';

/** The commit of the sources. */
function commitOf(sources: string): string {
  try {
    const command = ['-C', sources, 'rev-parse', '--short=12', 'HEAD'];
    return execFileSync('git', command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'without a commit';
  }
}

/** The token file of the suite; it has a user for the agent. */
function tokensOf(sources: string): readonly string[] {
  const file = join(sources, 'hack', 'ci', 'testdata', 'e2e-kcp.tokens');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Throws when a program that the tests start is missing. */
function programsOf({ suite, binaries, assets }: ClientArguments): Record<string, string> {
  const programs: Record<string, string> = {};
  if (suite.agent !== undefined) programs['AGENT_BINARY'] = join(binaries, suite.agent);
  if (suite.needsKubernetes) {
    const etcd = join(assets as string, 'etcd');
    programs['TEST_ASSET_KUBE_APISERVER'] = join(assets as string, 'kube-apiserver');
    programs['TEST_ASSET_ETCD'] = existsSync(etcd) ? etcd : findBinary('etcd');
  }
  for (const program of Object.values(programs)) if (!existsSync(program)) throw new Error(`${program} is missing`);
  return programs;
}

/** The environment in which kcp's own scripts run these suites. */
function environmentOf({ out, sources }: ClientArguments, cluster: SuiteControlPlane): Record<string, string> {
  const token = tokensOf(sources)[0]?.split(',')[0];
  return {
    ...(token === undefined ? {} : { KCP_AGENT_TOKEN: token }),
    KCP_KUBECONFIG: cluster.kubeconfig,
    KCP_VERSION: kcpVersion,
    KCP_NUMBER_OF_SHARDS: String(Object.keys(cluster.shardKubeconfigs).length || 1),
    KCP_TEST_WORK_DIR: out,
    KCP_ASSET_SHARDED_TEST_SERVER: join(import.meta.dirname, 'sharded-test-server'),
    TEST_ASSET_KCP: join(import.meta.dirname, 'kcp-server'),
    ROOT_DIRECTORY: sources,
    ARTIFACTS: out,
  };
}

interface Checked extends ClientArguments {
  /** By environment variable. */
  readonly programs: Readonly<Record<string, string>>;
}

/** Throws what is wrong with the flags, or what is missing in the folders that they name. */
function read(args: readonly string[]): Checked {
  const parsed = clientArguments(args);
  packagesOf(parsed);
  return { ...parsed, programs: programsOf(parsed) };
}

async function run(args: Checked): Promise<number> {
  const { client, suite, sources, profile, out, programs } = args;
  const document = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'compatibility.md'), 'utf8');
  const deliberate = deliberateFailures(document, "End-to-end tests of kcp's clients");
  process.stdout.write(`${client} ${commitOf(sources)}; starting a control plane (${profile}) …\n`);
  await using cluster = await startSuiteControlPlane(out, { profile, tokens: tokensOf(sources) });
  const env = { ...environmentOf(args, cluster), ...programs };
  const left = profile === 'all-in-one' ? suite.needsShards : undefined;
  if (left !== undefined) process.stdout.write(`left out, as they need two shards: ${left}\n`);
  const flags = left === undefined ? [] : [`-ginkgo.skip=${left}`];
  const failures = await playGoSuite({ flags, env, isGinkgo: suite.isGinkgo, deliberate }, args);
  return failures.length === 0 ? 0 : 1;
}

await runCommand(usage, read, run);
