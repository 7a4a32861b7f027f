import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { describeWith, pythonWith } from '../harness/foreign-program.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';

const run = promisify(execFile);

describeWith(pythonWith('kubernetes'), 'Python programs on the package kubernetes', (command) => {
  test('objects, watches, custom resources and the dynamic client', async () => {
    await using workspace = await KubectlWorkspace.start();
    const script = join(import.meta.dirname, 'python', 'client_test.py');
    const outcome = await run(command, [script], {
      env: { ...process.env, KUBECONFIG: workspace.kubectl.kubeconfig },
    }).catch((error: unknown) => error as { readonly stdout: string; readonly stderr: string });
    expect(outcome.stderr).toMatch(/\nOK\n$/);
    expect(outcome.stderr).toMatch(/^Ran 3 tests in /m);
  }, 120_000);
});
