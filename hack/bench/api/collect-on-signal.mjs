/*
 * Preloaded into the server under measurement: on SIGUSR2 it collects garbage, then writes what is in use to the file
 * that the environment names. V8 collects when it must, not when somebody measures: without this a bench measures how
 * much garbage it has not got round to, not what an object costs.
 *
 * It also measures how long the event loop was held since the server listens. What the collections here take is not
 * counted: it is the bench's. The longest hold is in that file, too, and at the end of the process in one beside it.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const resolution = 10;
const delay = monitorEventLoopDelay({ resolution });
let before = 0;
const longest = () => Math.max(before, delay.max / 1e6 - resolution);
if (isMainThread) {
  subscribe('tracing:net.server.listen:asyncEnd', () => delay.enable());
  process.on('exit', () => appendFileSync(`${process.env.BENCH_MEMORY_FILE}.holds`, `${longest()}\n`));
}

process.on('SIGUSR2', () => {
  before = longest();
  delay.disable();
  collect();
  collect();
  // Backing stores that were freed go back in later turns.
  setTimeout(() => {
    // The last resort: a usual collection leaves V8 the pages of its garbage, as many as the heap once had.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(process.env.BENCH_MEMORY_FILE, JSON.stringify({ held: heapUsed + external, longestHold: before }));
    // Anew, or the pause would be the next sample.
    delay.reset();
    delay.enable();
  }, 100);
});
