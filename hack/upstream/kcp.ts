import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { deliberateFailures } from './deliberate-failures.ts';
import { packagesOf, playGoSuite } from './go-suite.ts';
import { runCommand } from './run-command.ts';
import { suiteArguments, suiteFlags, suiteUsage, type SuiteArguments } from './suite-arguments.ts';
import { startSuiteControlPlane } from './suite-control-plane.ts';

const usage = `Runs kcp's own end-to-end tests against a control plane that is started for them.

Usage: hack/upstream/kcp --binaries FOLDER --sources FOLDER [flags] [package …]

  --binaries FOLDER    the compiled tests: \`go test -c -o FOLDER/<package>.test ./test/e2e/<package>\` of kcp 0.32, each slash
                       of a package a dash (virtual-apiexport.test)
  --sources FOLDER     kcp's sources: tests read files of their package and of the repository
${suiteUsage}
  --out FOLDER         logs, one a package (.cache/upstream/kcp-<profile>)

Packages run one after the other; without names all of them. Failed tests run once more, alone. The exit status is 0 when only
tests fail that docs/compatibility.md lists.`;

const features = 'WorkspaceMounts=true,CacheAPIs=true,WorkspaceAuthentication=true,LogicalClusterMigration=true';

/** The users of kcp's tests. */
const tokens = [1, 2, 3, 4, 5].map((n) => `user-${n}-token,user-${n},${n},"team-${n}"`);

/** Throws what is wrong with the flags, or what is missing in the folders that they name. */
function read(args: readonly string[]): SuiteArguments {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: suiteFlags });
  const parsed = suiteArguments(values, positionals, 'kcp');
  packagesOf(parsed);
  return parsed;
}

async function run(args: SuiteArguments): Promise<number> {
  const document = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'compatibility.md'), 'utf8');
  const deliberate = deliberateFailures(document, "kcp's end-to-end tests");
  const { out, profile } = args;
  process.stdout.write(`starting a control plane (${profile}) …\n`);
  await using cluster = await startSuiteControlPlane(out, { profile, tokens, flags: [`--feature-gates=${features}`] });
  const shards = Object.entries(cluster.shardKubeconfigs).map(([shard, file]) => `${shard}=${file}`);
  const flags = [
    '-suites=control-plane',
    `-kcp-kubeconfig=${cluster.kubeconfig}`,
    ...(shards.length === 0 ? [] : [`-shard-kubeconfigs=${shards.join(',')}`]),
  ];
  const failures = await playGoSuite({ flags, env: {}, isGinkgo: false, deliberate }, args);
  return failures.length === 0 ? 0 : 1;
}

await runCommand(usage, read, run);
