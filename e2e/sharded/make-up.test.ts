import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePorts, TempDir } from '@multiplane/testing';
import { describeWithKubectl, Kubectl } from '../harness/kubectl.ts';

const repository = join(import.meta.dirname, '..', '..');

describeWithKubectl('make up PROFILE=sharded', () => {
  let directory: TempDir;
  let firstPort: number;
  beforeAll(async () => {
    directory = await TempDir.create('make-up');
    [firstPort = 0] = await freePorts(1);
  });
  afterAll(async () => {
    await run('down');
    await directory.remove();
  }, 120_000);

  /** What hack/up and hack/down call, in a folder and on ports of its own. */
  function run(command: string): Promise<{ code: number; out: string }> {
    return new Promise((resolve) => {
      const env = {
        ...process.env,
        NODE_OPTIONS: '',
        MULTIPLANE_ROOT_DIRECTORY: directory.path,
        MULTIPLANE_FIRST_PORT: String(firstPort),
      };
      const script = join(repository, 'hack', 'cluster', 'sharded.ts');
      execFile(join(repository, 'hack', 'node'), [script, command], { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, out: stdout + stderr }),
      );
    });
  }

  test('starts everything, says what it does, and a second run says that it runs', async () => {
    let up = await run('up');
    // A port in the row may be taken, or be taken before its server starts.
    for (let attempt = 1; attempt < 4 && /is taken|EADDRINUSE/.test(up.out); attempt++) {
      [firstPort = 0] = await freePorts(1);
      up = await run('up');
    }
    expect(up).toMatchObject({ code: 0, out: expect.stringMatching(/\[10\/10\] \S+ +ready after/) });
    const kubeconfig = /^kubeconfig: (.*)$/m.exec(up.out)?.[1] as string;
    await using kubectl = await Kubectl.create({ copyOf: kubeconfig });
    expect((await kubectl.ok(['get', 'shards', '-o', 'name'])).trim().split('\n')).toEqual([
      'shard.core.kcp.io/root',
      'shard.core.kcp.io/shard-1',
    ]);
    expect(await run('up')).toEqual({ code: 0, out: expect.stringContaining('runs already (10 processes)') });
    expect((await run('status')).out).toMatch(/^front-proxy +ready \(pid \d+\)$/m);
  }, 180_000);

  test('starts what is missing, and stops everything', async () => {
    const pid = Number(/^virtual-workspaces-root +ready \(pid (\d+)\)$/m.exec((await run('status')).out)?.[1]);
    process.kill(pid, 'SIGKILL');
    const again = await run('up');
    expect(again.out).toMatch(/ shard-root +ran already/);
    expect(again.out).toMatch(/ virtual-workspaces-root +ready after/);
    expect(await run('down')).toEqual({ code: 0, out: expect.stringContaining('Stopped.') });
    expect(await run('down')).toEqual({ code: 0, out: 'No sharded control plane runs.\n' });
  }, 180_000);
});
