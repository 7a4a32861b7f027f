/*
 * Preloaded into a server under test: writes the processor time of every long turn of its event loop, in milliseconds, as a
 * line into the file that the environment names. A turn is what happens between two looks of a timer, which fires once per
 * iteration: one iteration, and at most `resolution` milliseconds of others. Processor time does not contain what other programs
 * on the machine take.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const resolution = 5;
const minReported = 20;
const file = process.env.MULTIPLANE_TEST_TURNS;

function worked() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

if (isMainThread && file !== undefined) {
  let last = worked();
  setInterval(() => {
    const now = worked();
    if (now - last >= minReported) appendFileSync(file, `${(now - last).toFixed(1)}\n`);
    last = worked();
  }, resolution).unref();
}
