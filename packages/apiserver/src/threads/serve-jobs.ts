import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';

/** Of 19; requests that are answered meanwhile come first. */
const niceness = 3;

/**
 * Called when the module of a thread of {@link JobThreads} is loaded: sends one message that says so, and then answers each
 * message that the thread receives with one message. An uncaught error ends the thread.
 */
export function serveJobs<Job, Answer>(answer: (job: Job) => Answer): void {
  lowerPriority();
  parentPort?.on('message', (job: Job) => parentPort?.postMessage(answer(job)));
  parentPort?.postMessage(undefined);
}

/** On Linux the priority is that of the calling thread; elsewhere it is that of the process, which must keep its own. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // Sandboxes may forbid it. The thread only has the priority of the others then.
  }
}
