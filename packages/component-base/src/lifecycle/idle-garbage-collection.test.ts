import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { IdleGarbageCollection } from './idle-garbage-collection.ts';

const mebibyte = 1024 * 1024;

test('collects while caches release what a load left, and not again before the process has allocated', async () => {
  const clock = new FakeClock();
  const state = { used: 50 * mebibyte, utilization: 0 };
  const collections: number[] = [];
  const collection = new IdleGarbageCollection({
    clock,
    used: () => state.used,
    utilization: () => state.utilization,
    collect: (bytes) => collections.push(bytes / mebibyte),
  });
  await collection.start();
  const pass = (): Promise<unknown> => clock.advance(10_000);
  // The garbage of the start.
  for (let i = 0; i < 6; i++) await pass();
  expect(collections.splice(0)).toEqual([50, 50, 50, 50, 50]);

  state.used = 300 * mebibyte;
  state.utilization = 0.9;
  await pass();
  expect(collections).toEqual([]);
  state.utilization = 0.01;
  await pass();
  expect(collections).toEqual([300]);

  // V8 has not started yet, then caches release memory, which is garbage until the next collection.
  await pass();
  state.used = 120 * mebibyte;
  await pass();
  state.utilization = 0.5;
  await pass();
  state.utilization = 0;
  state.used = 80 * mebibyte;
  await pass();
  state.used = 81 * mebibyte;
  await pass();
  expect(collections).toEqual([300, 300, 120, 80, 81]);
  // Further collections would free nothing.
  await pass();
  await pass();
  expect(collections).toHaveLength(5);
  state.used = 90 * mebibyte;
  await pass();
  expect(collections.slice(5)).toEqual([90]);

  await collection.stop();
  state.used = 500 * mebibyte;
  await pass();
  expect(collections).toHaveLength(6);
});

test('V8 starts a collection that reduces memory', async () => {
  const program = `
    import { IdleGarbageCollection } from ${JSON.stringify(join(import.meta.dirname, 'idle-garbage-collection.ts'))};
    let used = 0;
    const clock = { after: (ms, run) => setTimeout(run, 10) };
    void new IdleGarbageCollection({ clock, used: () => (used += 8 << 20), utilization: () => 0 }).start();
  `;
  const child = spawn(process.execPath, ['--trace-gc', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Without the options of jest's own process.
    env: {},
  });
  try {
    let line = '';
    for await (line of createInterface(child.stdout)) if (line.includes('Mark-Compact')) break;
    expect(line).toContain('Mark-Compact (reduce)');
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
