import { setTimeout as delay } from 'node:timers/promises';
import { ProcessInfo } from './process-info.ts';

/**
 * Sends SIGSTOP and resolves once all threads are stopped: kill(2) returns before that, and on a loaded machine the threads
 * serve requests for some milliseconds more. A process that exits meanwhile counts as stopped.
 *
 * @throws ESRCH when the process does not exist
 */
export async function freezeProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const info = new ProcessInfo();
  // Stopped, or ended.
  while (info.threadStates(pid).some((state) => !['T', 'Z', 'X'].includes(state))) await delay(1);
}
