import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import type { ControlPlane } from './control-plane.ts';
import { startControlPlane } from './start-control-plane.ts';
import { programOnPath, repository, skipLoudly } from './foreign-program.ts';
import { describeWithKubectl, shortProcess } from './kubectl.ts';
import type { ShardedClusterOptions } from './sharded-cluster.ts';

interface Block {
  readonly title: string;
  readonly commands: string;
  /** A program that not everybody has; where it is missing the block is skipped, and says so. */
  readonly needs: string | undefined;
  /** Goes on until the reader stops it. */
  readonly isForOtherTerminal: boolean;
}

/** How a program shows that it can do its work: npm needs its registry. */
const probes: Readonly<Record<string, readonly string[]>> = {
  npm: ['ping', '--loglevel=error'],
};
const otherTerminal = '# In another terminal';
const terminalsClosed = '# With the other terminals closed';

/** What a reader of a page pastes: blocks of `sh`, those that need a program with `needs=<program>` behind it. */
function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```sh(?: needs=(\w+))?\n(.*?)^```$/gms)].map(([, needs, commands = ''], index) => ({
    title: `${index + 1}: ${commands.split('\n', 1)[0] ?? ''}`,
    commands,
    needs,
    isForOtherTerminal: commands.startsWith(otherTerminal),
  }));
}

/**
 * Does with a page of `docs/` what its reader does: pastes block after block into one terminal, in the folder of the
 * repository, with the administrator's kubeconfig; what is for another terminal runs until it is closed. A block
 * must end well and print something.
 */
export function describePage(file: string, options: ShardedClusterOptions = {}): void {
  const blocks = blocksOf(readFileSync(join(repository, 'docs', file), 'utf8'));

  test(`${file} has commands`, () => {
    expect(blocks.length).toBeGreaterThan(5);
  });

  describeWithKubectl(`the commands of ${file}`, () => {
    let cluster: ControlPlane;
    let home: TempDir;
    let env: NodeJS.ProcessEnv;
    const others: { readonly child: ChildProcess; readonly printed: string[] }[] = [];

    beforeAll(async () => {
      [cluster, home] = await Promise.all([startControlPlane(options), TempDir.create('docs')]);
      const kubeconfig = home.join('kubeconfig');
      writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig), { mode: 0o600 });
      env = {
        // The Node that this repository pins is what a reader is told to have.
        PATH: [join(repository, 'bin'), dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
        HOME: home.path,
        KUBECONFIG: kubeconfig,
        ...shortProcess,
        // Modules of Go are fetched and built once for all, not once for each home.
        ...goFolders(),
        // The registry is asked only for what the machine has not fetched before.
        npm_config_prefer_offline: 'true',
        npm_config_cache: process.env['npm_config_cache'] ?? join(process.env['HOME'] ?? '/', '.npm'),
      };
    }, 240_000);

    /** Ends what runs there. Throws when something has ended by itself. */
    const closeOthers = (): void => {
      const all = others.splice(0);
      for (const { child } of all) if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid);
      const ended = all.filter(({ child }) => child.exitCode !== null);
      expect(ended.map(({ printed }) => printed.join(''))).toEqual([]);
    };

    afterAll(async () => {
      try {
        closeOthers();
      } finally {
        await cluster?.[Symbol.asyncDispose]();
        await home?.remove();
      }
    });

    for (const { title, commands, needs, isForOtherTerminal } of blocks) {
      const found = needs === undefined ? { command: 'sh' } : programOnPath(needs, ...(probes[needs] ?? ['version']));
      if ('problem' in found) {
        skipLoudly(`${file} ${title}`, found.problem);
      } else if (isForOtherTerminal) {
        // oxlint-disable-next-line jest/valid-title -- of the page
        test(title, () => {
          // A group of its own, so that whatever it started ends with it.
          const child = spawn('sh', ['-e', '-c', commands], { env, cwd: repository, detached: true });
          const printed: string[] = [];
          for (const stream of [child.stdout, child.stderr])
            stream.setEncoding('utf8').on('data', (text: string) => printed.push(text));
          others.push({ child, printed });
          expect(child.pid).toBeDefined();
        });
      } else {
        test(
          // oxlint-disable-next-line jest/valid-title -- of the page
          title,
          async () => {
            if (commands.startsWith(terminalsClosed)) closeOthers();
            const run = promisify(execFile)('sh', ['-e', '-c', commands], { env, cwd: repository, timeout: 110_000 });
            const { stdout } = await run.catch((error: unknown) => {
              const { stdout: out, stderr } = error as { readonly stdout: string; readonly stderr: string };
              const elsewhere = others.map(({ printed }) => printed.join('').slice(-2000)).join('\n');
              throw new Error(`${stderr}${out}\nIn the other terminals:\n${elsewhere}`, { cause: error });
            });
            expect(stdout).not.toBe('');
          },
          120_000,
        );
      }
    }
  });
}

/** Where Go keeps what it fetched, outside of the home that a page has. */
function goFolders(): NodeJS.ProcessEnv {
  const home = process.env['HOME'] ?? '/';
  return {
    GOPATH: process.env['GOPATH'] ?? join(home, 'go'),
    GOCACHE: process.env['GOCACHE'] ?? join(home, '.cache', 'go-build'),
  };
}
