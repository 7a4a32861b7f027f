import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ginkgoFocus } from './ginkgo-focus.ts';
import { ginkgoTestResults } from './ginkgo-test-results.ts';
import { goTestResults, type GoTestResults } from './go-test-results.ts';
import type { SuiteArguments } from './suite-arguments.ts';

/** Compiled Go tests of a project, and what they are told about the control plane. */
export interface GoSuite {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The tests are Ginkgo specs, not functions. */
  readonly isGinkgo: boolean;
  /** Names of tests that fail on purpose. */
  readonly deliberate: ReadonlySet<string>;
}

/** A run of one package. */
interface Run {
  readonly parallel: number;
  /** A regular expression; undefined: all tests. */
  readonly tests: string | undefined;
  /** Names the log. */
  readonly log: string;
}

/** Names of the compiled packages. Throws when a chosen one is missing. */
export function packagesOf({ binaries, packages }: SuiteArguments): readonly string[] {
  const names = readdirSync(binaries).flatMap((file) =>
    file.endsWith('.test') ? [file.slice(0, -'.test'.length)] : [],
  );
  if (names.length === 0) throw new Error(`${binaries} has no compiled tests (*.test)`);
  const unknown = packages.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`${binaries} has no ${unknown.join(', ')}; there are ${names.join(', ')}`);
  return packages.length > 0 ? packages : names;
}

/** The folder of a package's sources: dashes of the name of the binary are slashes, or dashes. */
export function sourcesOf(name: string, sources: string): string {
  const parts = name.split('-');
  for (const root of [join(sources, 'test', 'e2e'), join(sources, 'test')])
    for (let slashes = 0; slashes < parts.length; slashes++) {
      const path = join(root, ...parts.slice(0, slashes), parts.slice(slashes).join('-'));
      if (existsSync(path)) return path;
    }
  throw new Error(`${sources} has no package test/e2e/${name}`);
}

/** Runs one binary and returns its results. */
async function play(name: string, suite: GoSuite, args: SuiteArguments, run: Run): Promise<GoTestResults> {
  const log = join(args.out, `${run.log}.log`);
  const report = join(args.out, `${run.log}.json`);
  rmSync(report, { force: true });
  const output = openSync(log, 'w');
  const selection = run.tests === undefined ? [] : [`-${suite.isGinkgo ? 'ginkgo.focus' : 'test.run'}=${run.tests}`];
  // Ginkgo runs one spec at a time, and ends them itself before it writes its report.
  const limits = suite.isGinkgo
    ? [`-ginkgo.timeout=${args.minutes}m`, `-test.timeout=${args.minutes + 1}m`]
    : [`-test.parallel=${run.parallel}`, `-test.timeout=${args.minutes}m`];
  const ginkgo = ['-ginkgo.v', '-ginkgo.no-color', `-ginkgo.json-report=${report}`];
  const child = spawn(
    join(args.binaries, `${name}.test`),
    ['-test.v', ...limits, ...(suite.isGinkgo ? ginkgo : []), ...selection, ...suite.flags],
    {
      cwd: sourcesOf(name, args.sources),
      stdio: ['ignore', output, output],
      // Tests that need a server of their own start ours.
      env: { ...process.env, NO_GORUN: '1', KCP_ASSET_KCP: join(import.meta.dirname, 'kcp-server'), ...suite.env },
    },
  );
  const ended = Promise.withResolvers<void>();
  child.once('error', ended.reject).once('exit', () => ended.resolve());
  await ended.promise;
  closeSync(output);
  if (!suite.isGinkgo) return goTestResults(readFileSync(log, 'utf8'));
  return ginkgoTestResults(existsSync(report) ? readFileSync(report, 'utf8') : undefined);
}

/**
 * Runs packages one after the other and prints their results. Failed tests run once more, alone. Returns what failed and is not
 * deliberate.
 */
export async function playGoSuite(suite: GoSuite, args: SuiteArguments): Promise<readonly string[]> {
  const { out, parallel } = args;
  mkdirSync(out, { recursive: true });
  const failures: string[] = [];
  for (const name of packagesOf(args)) {
    const began = Date.now();
    const results = await play(name, suite, args, { parallel, tests: args.run, log: name });
    const repeat = results.failed.filter((test) => !suite.deliberate.has(test));
    const tests = suite.isGinkgo ? ginkgoFocus(repeat) : `^(${repeat.join('|')})$`;
    const again =
      repeat.length === 0 ? undefined : await play(name, suite, args, { parallel: 1, tests, log: `${name}.again` });
    const flaky = repeat.filter((test) => again?.passed.includes(test) === true);
    const failed = repeat.filter((test) => !flaky.includes(test));
    failures.push(...failed);
    if (!results.isComplete) failures.push(`${name} (ended early)`);
    const notes = [
      ...failed.map((test) => `FAILED ${test}`),
      ...flaky.map((test) => `passed alone: ${test}`),
      ...results.failed.filter((test) => suite.deliberate.has(test)).map((test) => `deliberate: ${test}`),
      ...results.skipped.map((test) => `skipped: ${test}`),
      ...(results.isComplete ? [] : ['ENDED EARLY']),
    ];
    const counts = `${results.passed.length} passed, ${results.failed.length} failed, ${results.skipped.length} skipped`;
    process.stdout.write(`${name}: ${counts} (${((Date.now() - began) / 1000).toFixed(0)} s)\n`);
    for (const note of notes) process.stdout.write(`  ${note}\n`);
  }
  process.stdout.write(`logs: ${out}\n`);
  if (failures.length > 0) process.stdout.write(`failed: ${failures.join(', ')}\n`);
  return failures;
}
