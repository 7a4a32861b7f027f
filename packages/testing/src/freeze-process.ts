import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** A thread's letter in `/proc/<pid>/task/<tid>/stat` (proc_pid_stat(5)) once a signal has stopped it. */
const stopped = 'T';

/**
 * SIGSTOP, and resolves once the process stands: the signal returns before the threads of its target have seen it,
 * and on a busy machine they answer requests for some milliseconds more. Where the system has no `/proc` nothing
 * tells, and it resolves at once. A process that has gone meanwhile counts as stopped.
 *
 * @throws ESRCH when there is no such process.
 */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (await runs(pid)) await delay(1);
}

async function runs(pid: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  for (const thread of await readdir(tasks).catch(() => [])) {
    const stat = await readFile(`${tasks}/${thread}/stat`, 'utf8').catch(() => undefined);
    // The name in parentheses is the program's own and may hold anything.
    const state = stat?.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    if (state !== undefined && ![stopped, 'Z', 'X'].includes(state)) return true;
  }
  return false;
}
