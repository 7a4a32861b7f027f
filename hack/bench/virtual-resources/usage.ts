import { setTimeout as wait } from 'node:timers/promises';
import { processorSeconds } from '../processor-time.ts';

/** Seconds of processor time that each process has used, by name. */
export type Usage = ReadonlyMap<string, number>;

/** The processes whose work is counted. */
export type Processes = ReadonlyMap<string, { readonly pid?: number | undefined }>;

export function usageOf(processes: Processes): Usage {
  return new Map([...processes].map(([name, running]) => [name, processorSeconds(running)]));
}

export function total(usage: Usage): number {
  return usage.values().reduce((sum, each) => sum + each, 0);
}

const quietSeconds = 0.3;
const mostLooks = 30;

/** Waits until the processes have finished what earlier requests left to do. */
export async function quiet(processes: Processes): Promise<void> {
  for (let before = total(usageOf(processes)), looks = 0; looks < mostLooks; looks++) {
    await wait(1_000);
    const now = total(usageOf(processes));
    if (now - before < quietSeconds) return;
    before = now;
  }
}

/** Seconds of all processes in a second in which no request is sent. */
export async function idleRate(processes: Processes): Promise<number> {
  await wait(3_000);
  const before = total(usageOf(processes));
  const began = performance.now();
  await wait(3_000);
  return ((total(usageOf(processes)) - before) * 1000) / (performance.now() - began);
}

/** Microseconds that each process has worked for one of `count` things, as a text. */
export function perProcess(before: Usage, after: Usage, count: number): string {
  const parts: string[] = [];
  for (const [name, seconds] of after) {
    const each = ((seconds - (before.get(name) ?? 0)) * 1e6) / count;
    if (each >= 5) parts.push(`${name} ${each.toFixed(0)} µs`);
  }
  return parts.join(', ');
}
