/*
 * Preloaded into the server under measurement: on SIGUSR2 it collects garbage, then writes what is in use to the file
 * that the environment names. V8 does not collect before a measurement: without this a bench measures how
 * much garbage it has not got round to, not what an object costs.
 *
 * It also measures how long the event loop was held since the server listens: by the clock, and without the time in which
 * the machine had given the thread's processor to others, which client and server of a bench share. What the thread
 * itself waits for (a file, its garbage collector's helpers) counts in both. What the collections here take is not
 * counted: it is the bench's. The longest holds are in that file, too, and at the end of the process in one beside it.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, openSync, readSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** Milliseconds between two looks; a hold is what a look comes too late by. */
const resolution = 5;
const longest = { own: 0, byClock: 0, worked: 0 };
let timer;

/** Milliseconds that this thread, the main one, was ready to run and had no processor (proc(5), schedstat). */
const waited = (() => {
  let file;
  try {
    file = openSync(`/proc/self/task/${process.pid}/schedstat`);
  } catch {
    return () => 0;
  }
  const bytes = Buffer.alloc(64);
  return () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 64, 0)).split(' ')[1]) / 1e6;
})();

function worked() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function watch() {
  let time = performance.now();
  let wait = waited();
  let work = worked();
  timer = setInterval(() => {
    const late = performance.now() - time - resolution;
    const without = waited() - wait;
    const working = worked() - work;
    longest.byClock = Math.max(longest.byClock, late);
    longest.own = Math.max(longest.own, late - without);
    longest.worked = Math.max(longest.worked, working);
    time += late + resolution;
    wait += without;
    work += working;
  }, resolution).unref();
}

if (isMainThread) {
  subscribe('tracing:net.server.listen:asyncEnd', () => timer ?? watch());
  process.on('exit', () => appendFileSync(`${process.env.BENCH_MEMORY_FILE}.holds`, `${JSON.stringify(longest)}\n`));
}

process.on('SIGUSR2', () => {
  clearInterval(timer);
  collect();
  collect();
  // Backing stores that were freed go back in later turns.
  setTimeout(() => {
    // The last resort: a usual collection leaves V8 the pages of its garbage, as many as the heap once had.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(process.env.BENCH_MEMORY_FILE, JSON.stringify({ held: heapUsed + external, longestHold: longest }));
    // In a turn of its own, or the pause would be the next hold.
    setImmediate(watch);
  }, 100);
});
