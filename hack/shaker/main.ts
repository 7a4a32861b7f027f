/** The program behind `hack/shake`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { JestResult } from '../test-results.ts';
import { totalsOf } from '../test-results.ts';
import { failuresOf, type ShakenRun } from './failures.ts';
import { parseShakerOptions, type ShakerOptions } from './options.ts';

const root = join(import.meta.dirname, '../..');
const outputs = join(root, '.cache/shake');
/** A run that has not ended after so long hangs. */
const maxRunMinutes = 120;

const children = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
process.on('exit', () => children.forEach(kill));

/** Each is the leader of a process group: jest's workers and what they started end with it. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function start(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  output: number | 'ignore',
): ChildProcess {
  const child = spawn(command, args, { cwd: root, env, detached: true, stdio: ['ignore', 'ignore', output] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Burns a core until this process has ended, whichever way. */
const burn = `while kill -0 ${process.pid} 2>/dev/null; do for ((n = 0; n < 1000000; n++)); do :; done; done`;

function parsedOptions(): ShakerOptions {
  try {
    return parseShakerOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; see hack/shake --help`);
    process.exit(2);
  }
}

function jestArguments({ isEndToEnd, patterns }: ShakerOptions, seed: number, resultFile: string): string[] {
  const directory = `^${root}/${isEndToEnd ? 'e2e' : 'packages'}/`;
  return [
    '--import',
    join(root, 'hack/exit-immediately.mjs'),
    'node_modules/jest/bin/jest.js',
    '--json',
    `--outputFile=${resultFile}`,
    // The tests of an end-to-end suite are the steps of a scenario.
    ...(isEndToEnd ? [] : ['--randomize']),
    `--seed=${seed}`,
    `--testSequencer=${join(root, 'hack/shaker/shuffling-sequencer.ts')}`,
    `--maxWorkers=${isEndToEnd ? 2 : '100%'}`,
    ...(isEndToEnd ? ['--ignoreProjects=containers'] : []),
    '--testPathPatterns',
    ...(patterns.length > 0 ? patterns : [directory]),
  ];
}

async function play(options: ShakerOptions, seed: number, isStretched: boolean): Promise<ShakenRun> {
  const name = isStretched ? 'stretched' : String(seed);
  const resultFile = join(outputs, `${name}.json`);
  rmSync(resultFile, { force: true });
  const preload = isStretched ? `--import=${join(root, 'hack/shaker/stretched-timers.mjs')}` : '';
  const env = {
    ...process.env,
    NODE_OPTIONS: `--experimental-vm-modules --disable-warning=ExperimentalWarning ${preload}`.trimEnd(),
    MULTIPLANE_STRETCH: String(options.stretch),
  };
  const output = openSync(join(outputs, `${name}.log`), 'w');
  const command = ['-n', String(options.nice), process.execPath, ...jestArguments(options, seed, resultFile)];
  const child = start('nice', command, env, output);
  closeSync(output);
  let hangs = false;
  const timer = setTimeout(() => {
    hangs = true;
    kill(child);
  }, maxRunMinutes * 60_000);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  if (existsSync(resultFile)) {
    return { seed, isStretched, result: JSON.parse(readFileSync(resultFile, 'utf8')) as JestResult };
  }
  const message = hangs ? `did not end within ${maxRunMinutes} minutes` : `jest ended with ${String(code)}`;
  const broken = { name: join(outputs, `${name}.log`), status: 'failed', message, assertionResults: [] };
  return { seed, isStretched, result: { success: false, testResults: [broken] } };
}

const options = parsedOptions();
mkdirSync(outputs, { recursive: true });
const isOneRun = options.runs === 1 && options.stretch === 0;
for (let n = 0; n < options.burners; n++) start('bash', ['-c', burn], process.env, 'ignore');
const plan = [
  ...Array.from({ length: options.runs }, (_, n) => ({ seed: options.seed + n, isStretched: false })),
  ...(options.stretch > 1 ? [{ seed: options.seed + options.runs, isStretched: true }] : []),
];
const runs: ShakenRun[] = [];
for (const { seed, isStretched } of plan) {
  const began = performance.now();
  const run = await play(options, seed, isStretched);
  runs.push(run);
  const { passed, failed } = totalsOf([run.result]);
  const seconds = Math.round((performance.now() - began) / 1000);
  const conditions = isStretched ? `timers × ${options.stretch}` : `seed ${seed}`;
  console.log(`run ${runs.length} of ${plan.length} (${conditions}): ${passed} passed, ${failed} failed, ${seconds} s`);
}

const failures = failuresOf(runs);
for (const { path, test, runs: failed, message } of failures) {
  const suite = relative(root, path);
  const at = failed.map(({ seed, isStretched }) => (isStretched ? 'stretched' : String(seed))).join(', ');
  const [first] = failed;
  const conditions = first?.isStretched ? '--runs 0' : '--runs 1 --stretch 0';
  console.log(`\n${suite} › ${test}\n  failed in ${failed.length} of ${runs.length} runs: ${at}`);
  console.log(`  hack/shake ${options.isEndToEnd ? 'e2e ' : ''}${conditions} --seed ${first?.seed} ${suite}`);
  if (message !== '') console.log(message.replaceAll(/^/gm, '    '));
}
if (!isOneRun) console.log(`\n${failures.length === 0 ? 'nothing' : failures.length} failed in ${runs.length} runs`);
process.exitCode = failures.length > 0 || runs.some(({ result }) => !result.success) ? 1 : 0;
