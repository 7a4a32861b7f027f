/*
 * Preloaded into the server under measurement: on SIGUSR2 it collects garbage, then writes what is in use to the file
 * that the environment names. V8 collects when it must, not when somebody measures: without this a bench measures how
 * much garbage it has not got round to, not what an object costs.
 */
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => {
  collect();
  collect();
  // Backing stores that were freed go back in later turns.
  setTimeout(() => {
    // The last resort: a usual collection leaves V8 the pages of its garbage, as many as the heap once had.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(process.env.BENCH_MEMORY_FILE, JSON.stringify({ held: heapUsed + external }));
  }, 100);
});
