import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWith, goTests } from '../harness/foreign-program.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

const run = promisify(execFile);

describeWith(goTests('e2e/clients/go'), 'Go programs on client-go and controller-runtime', (command) => {
  let workspace: KubectlWorkspace;
  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
  }, 120_000);
  afterAll(() => workspace?.[Symbol.asyncDispose]());

  const names = execFileSync(command, ['-test.list', '.'], { encoding: 'utf8' }).trim().split('\n');
  test.each(names)(
    '%s',
    async (name) => {
      const outcome = await run(command, ['-test.v', '-test.run', `^${name}$`, '-test.timeout', '90s'], {
        env: { ...process.env, KUBECONFIG: workspace.kubectl.kubeconfig },
      }).catch((error: unknown) => error as { readonly stdout: string; readonly stderr: string });
      // What the program says of a failure is what one wants to read.
      expect(outcome.stdout).toMatch(new RegExp(`^--- PASS: ${name} `, 'm'));
    },
    100_000,
  );
});
