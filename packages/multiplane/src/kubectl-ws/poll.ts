import { setTimeout as delay } from 'node:timers/promises';

const intervalMs = 100;

/** Calls `ask` every 100 ms until it returns a value; undefined after the timeout. */
export async function poll<T>(timeoutMs: number, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const result = await ask();
    if (result !== undefined) return result;
    if (performance.now() >= deadline) return undefined;
    await delay(Math.min(intervalMs, Math.max(1, deadline - performance.now())));
  }
}
