/** So many iterations in which immediates run: nothing that ends needs them. */
const maxIterations = 200_000;

/**
 * Resolves when the event loop has nothing left to do but to wait: promise reactions have run, time slices and immediates have
 * ended, file operations are complete. Sockets, child processes, worker threads and timers are not waited for.
 *
 * How many iterations that takes depends on the speed of the machine: work in time slices yields by its clock. The state
 * afterwards does not.
 */
export async function eventLoopIdle(): Promise<void> {
  for (let iterations = 0; iterations < maxIterations;) {
    await new Promise((resolve) => void setImmediate(resolve));
    const resources = process.getActiveResourcesInfo();
    if (resources.includes(immediate)) iterations++;
    else if (!resources.some((resource) => fileOperations.has(resource))) return;
  }
  throw new Error(
    'the event loop does not become idle: work of this suite, or of an earlier one in this process, has no end',
  );
}

/** Names of `process.getActiveResourcesInfo`. */
const immediate = 'Immediate';
const fileOperations: ReadonlySet<string> = new Set(['FSReqCallback', 'FSReqPromise', 'CloseReq']);
