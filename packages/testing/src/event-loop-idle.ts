/**
 * Resolves when the event loop has nothing left to do but to wait: promise reactions have run, time slices and immediates have
 * ended, file operations are complete. Sockets, child processes, worker threads and timers are not waited for.
 *
 * How many iterations that takes depends on the speed of the machine: work in time slices yields by its clock. The state
 * afterwards does not.
 */
export async function eventLoopIdle(): Promise<void> {
  do await new Promise((resolve) => void setImmediate(resolve));
  while (process.getActiveResourcesInfo().some(isWork));
}

const isWork = (resource: string): boolean => work.has(resource);
/** Names of `process.getActiveResourcesInfo`: immediates, file operations with callback and promise, closing of file handles. */
const work: ReadonlySet<string> = new Set(['Immediate', 'FSReqCallback', 'FSReqPromise', 'CloseReq']);
