import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from '@jest/globals';
import { skippedTitle } from '@multiplane/testing';

export const repository = join(import.meta.dirname, '..', '..');

/** A program of another language that suites need, or why it is not there. */
export type Found = { readonly command: string } | { readonly problem: string };

/** The first line that says what went wrong. */
function problemOf(what: string, error: unknown): string {
  const { stderr, message } = error as { readonly stderr?: Buffer | string; readonly message?: string };
  const lines = `${stderr === undefined ? '' : stderr.toString()}\n${message ?? String(error)}`.split('\n');
  const line = lines.find((text) => text.trim() !== '' && !text.startsWith('go: downloading')) ?? '';
  return `${what}: ${line.trim()}`;
}

/** Builds the tests of a Go module (a folder of the repository) into one program. */
export function goTests(folder: string): Found {
  return goBuilt(folder, `${folder.replaceAll('/', '-')}.test`, ['test', '-c'], '.');
}

/** Builds a program of a Go module. */
export function goProgram(folder: string, program: string): Found {
  return goBuilt(folder, `${folder.replaceAll('/', '-')}-${program}`, ['build'], `./${program}`);
}

function goBuilt(folder: string, name: string, build: readonly string[], what: string): Found {
  const command = join(repository, '.cache', 'go', name);
  try {
    mkdirSync(dirname(command), { recursive: true });
    execFileSync('go', [...build, '-o', command, what], {
      cwd: join(repository, folder),
      // Waiting for a proxy that does not answer would take the tests' time.
      timeout: 280_000,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return { command };
  } catch (error) {
    return {
      problem: problemOf('Go or its modules are missing; install Go, and allow it to reach its module proxy', error),
    };
  }
}

/** A Python that has a package: that of the environment in `.cache/python`, else the machine's. */
export function pythonWith(module: string): Found {
  let problem = '';
  for (const command of [join(repository, '.cache', 'python', 'bin', 'python3'), 'python3']) {
    try {
      execFileSync(command, ['-c', `import ${module}`], { timeout: 30_000, stdio: ['ignore', 'ignore', 'pipe'] });
      return { command };
    } catch (error) {
      problem = problemOf(`no Python has the package ${module}; install it in .cache/python (python3 -m venv)`, error);
    }
  }
  return { problem };
}

/** A program on the PATH that answers to `arguments`. */
export function programOnPath(command: string, ...parameters: string[]): Found {
  try {
    execFileSync(command, parameters, { timeout: 30_000, stdio: ['ignore', 'ignore', 'pipe'] });
    return { command };
  } catch (error) {
    return { problem: problemOf(`${command} is not on the PATH; install it`, error) };
  }
}

/** `describe` for tests that need a program; where it is missing, one skipped test tells the reason. */
export function describeWith(found: Found, name: string, tests: (command: string) => void): void {
  // oxlint-disable-next-line jest/valid-title, jest/valid-describe-callback -- passed on
  if ('command' in found) return describe(name, () => tests(found.command));
  skipLoudly(name, found.problem);
}

/** A skipped test that tells the reason. */
export function skipLoudly(name: string, problem: string): void {
  // oxlint-disable-next-line jest/no-disabled-tests, jest/expect-expect, jest/valid-title -- the title is the message
  test.skip(skippedTitle(name, problem), () => undefined);
}
