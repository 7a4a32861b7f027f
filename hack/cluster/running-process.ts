import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { ProcessInfo } from '@multiplane/testing';

/** Where a background process leaves its number and its words. */
export interface ProcessFiles {
  readonly pidFile: string;
  readonly logFile: string;
}

/**
 * The number of the process that a pid file tells of, if it is alive and still the same one: after a reboot the number
 * may belong to another process. `mark` is an argument that only this process has.
 */
export function runningPid({ pidFile }: ProcessFiles, mark: string): number | undefined {
  if (!existsSync(pidFile)) return undefined;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  return Number.isInteger(pid) && pid > 0 && new ProcessInfo().arguments(pid).includes(mark) ? pid : undefined;
}

/** Starts a process that outlives this one; what it writes is appended to its log. */
export function startInBackground(
  command: string,
  args: readonly string[],
  { pidFile, logFile }: ProcessFiles,
): number {
  const log = openSync(logFile, 'a', 0o600);
  try {
    // A session of its own keeps a Ctrl-C in this terminal from stopping it.
    const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log] });
    if (child.pid === undefined) throw new Error(`${command} cannot be started`);
    child.unref();
    writeFileSync(pidFile, `${child.pid}\n`);
    return child.pid;
  } finally {
    closeSync(log);
  }
}

/** SIGTERM, and SIGKILL when it has not gone after a while. Tells whether it went by itself. */
export async function stopProcess(pid: number, files: ProcessFiles, mark: string, graceMs: number): Promise<boolean> {
  process.kill(pid, 'SIGTERM');
  const deadline = performance.now() + graceMs;
  while (runningPid(files, mark) !== undefined) {
    if (performance.now() > deadline) {
      process.kill(pid, 'SIGKILL');
      rmSync(files.pidFile, { force: true });
      return false;
    }
    await wait(50);
  }
  rmSync(files.pidFile, { force: true });
  return true;
}
