import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

/** What a script prints in a process with stretched timers. */
function printed(script: string): unknown {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', join(import.meta.dirname, 'stretched-timers.mjs'), '--input-type=module', '--eval', script],
    { encoding: 'utf8', env: { ...process.env, MULTIPLANE_STRETCH: '3', NODE_OPTIONS: '' } },
  );
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout) as unknown;
}

test('timers of all kinds fire late, whichever way they are reached', () => {
  const delays = printed(`
    import { setTimeout as wait } from 'node:timers/promises';
    import { setTimeout as named } from 'node:timers';
    const since = async (start) => { const from = performance.now(); await start(); return performance.now() - from; };
    console.log(JSON.stringify([
      await since(() => wait(20)),
      await since(() => new Promise((resolve) => setTimeout(resolve, 20))),
      await since(() => new Promise((resolve) => named(resolve, 20))),
      await since(() => new Promise((resolve) => { const ticks = setInterval(() => { clearInterval(ticks); resolve(); }, 20); })),
    ]));
  `) as number[];
  // A timer of Node may fire a millisecond early.
  for (const delay of delays) expect(delay).toBeGreaterThan(58);
});

test('immediates wait for several iterations, and keep their order', () => {
  const { order, iterations } = printed(`
    const order = [];
    const add = (name) => setImmediate(() => { order.push(name); if (name < 100) add(name + 100); });
    for (let n = 0; n < 100; n++) add(n);
    const iterations = [];
    for (let n = 0; n < 20; n++) { await new Promise((resolve) => setImmediate(resolve)); iterations.push(n); }
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(JSON.stringify({ order, iterations: iterations.length }));
  `) as { order: number[]; iterations: number };
  expect(order).toEqual(Array.from({ length: 200 }, (_, n) => n));
  expect(iterations).toBe(20);
});

test('cancelled timers do not fire, aborted waits reject, and nothing keeps the process', () => {
  expect(
    printed(`
      import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
      const fired = [];
      clearImmediate(setImmediate(() => fired.push('immediate')));
      clearTimeout(setTimeout(() => fired.push('timeout'), 1));
      const aborted = new AbortController();
      const waits = [turn(undefined, { signal: aborted.signal }), wait(1e6, undefined, { signal: aborted.signal })];
      aborted.abort();
      const results = await Promise.allSettled(waits);
      setTimeout(() => fired.push('unref'), 1e6).unref();
      console.log(JSON.stringify({ fired, names: results.map(({ reason }) => reason.name), value: await turn('value') }));
    `),
  ).toEqual({ fired: [], names: ['AbortError', 'AbortError'], value: 'value' });
});
