import { spawn } from 'node:child_process';
import { supervisedVariable } from './supervised-variable.ts';
import type { LaunchedProcess } from './supervisor.ts';

export interface LaunchOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * A child in a session of its own: Ctrl-C in the terminal reaches the supervisor alone, which stops its children in order. The child
 * notices by its channel when the supervisor is gone.
 */
export function launchProcess(
  { command, args, env }: LaunchOptions,
  modules: { readonly write: (text: string) => void; readonly end: () => void },
): LaunchedProcess {
  const child = spawn(command, args, {
    env: { ...env, [supervisedVariable]: '1' },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const [, output, errors] = child.stdio;
  for (const stream of [output, errors]) stream?.setEncoding('utf8').on('data', modules.write);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`cannot be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  }).then((how) => {
    modules.end();
    return how;
  });
  return { pid: child.pid, ended, kill: (signal) => void child.kill(signal) };
}
