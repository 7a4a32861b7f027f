import { setTimeout as delay } from 'node:timers/promises';

const intervalMs = 100;

/** Asks again and again until there is an answer; undefined when time is up before. */
export async function poll<T>(timeoutMs: number, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() >= deadline) return undefined;
    await delay(Math.min(intervalMs, Math.max(1, deadline - performance.now())));
  }
}
