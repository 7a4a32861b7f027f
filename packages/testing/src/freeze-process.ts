import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** State of a thread in `/proc/<pid>/task/<tid>/stat` (proc_pid_stat(5)) that a signal has stopped. */
const stopped = 'T';

/**
 * Sends SIGSTOP and resolves once all threads are stopped: kill(2) returns before that, and on a loaded machine the threads
 * serve requests for some milliseconds more. Without `/proc` it resolves immediately. A process that exits meanwhile counts
 * as stopped.
 *
 * @throws ESRCH when the process does not exist
 */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (await runs(pid)) await delay(1);
}

async function runs(pid: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  for (const thread of await readdir(tasks).catch(() => [])) {
    const stat = await readFile(`${tasks}/${thread}/stat`, 'utf8').catch(() => undefined);
    // The program name in parentheses may contain any character.
    const state = stat?.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    if (state !== undefined && ![stopped, 'Z', 'X'].includes(state)) return true;
  }
  return false;
}
