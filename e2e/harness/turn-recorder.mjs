/*
 * Preloaded into a server under test: writes every long turn of its event loop as a line of JSON into the file that the environment
 * names: `ms`, the processor time of the turn in milliseconds; `gcMs`, what of it were pauses of the garbage collector; and with
 * MULTIPLANE_TEST_TURN_STACKS=1 `stacks`, where the time went. A turn is what happens between two looks of a timer, which fires
 * once per iteration: one iteration, and at most `resolution` milliseconds of others. Processor time does not contain what other
 * programs on the machine take. Pauses of the collector are known by the clock only; of them the share counts that the thread worked
 * of the whole turn.
 */
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const resolution = 5;
const minReported = 20;
/** A turn is reported so many looks later. */
const delayedLooks = 3;
const file = process.env.MULTIPLANE_TEST_TURNS;
const namesStacks = process.env.MULTIPLANE_TEST_TURN_STACKS === '1';
/** Milliseconds after which a profile is dropped, because stopping it takes as long as it is large. */
const maxProfileMs = 5_000;

function worked() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Samples of the CPU profiler; `stacksBetween` names the functions in which most samples of a time span were taken. */
class StackSampler {
  #session = new Session();
  #startedAt = 0;

  constructor() {
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.setSamplingInterval', { interval: 500 });
    this.restart();
  }

  /** Synchronous within the process. */
  #post(method, parameters) {
    let result;
    this.#session.post(method, parameters, (_error, value) => (result = value));
    return result;
  }

  restart() {
    this.#post('Profiler.stop');
    this.#post('Profiler.start');
    this.#startedAt = performance.now();
  }

  get isOld() {
    return performance.now() - this.#startedAt > maxProfileMs;
  }

  stacksOfLast(ms) {
    const { profile } = this.#post('Profiler.stop');
    const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
    for (const node of profile.nodes) for (const child of node.children ?? []) nodes.get(child).parent = node;
    const since = profile.endTime - ms * 1000;
    const counts = new Map();
    let at = profile.startTime;
    for (const [index, id] of profile.samples.entries()) {
      at += profile.timeDeltas[index];
      if (at < since) continue;
      const frames = [];
      for (let node = nodes.get(id); node !== undefined && frames.length < 9; node = node.parent) {
        const { functionName, url, lineNumber } = node.callFrame;
        if (functionName !== '(root)')
          frames.push(`${functionName || 'anonymous'}${url === '' ? '' : `:${lineNumber + 1}`}`);
      }
      const stack = frames.join(' < ');
      counts.set(stack, (counts.get(stack) ?? 0) + 1);
    }
    this.#post('Profiler.start');
    this.#startedAt = performance.now();
    return [...counts]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, 6)
      .map(([stack, samples]) => `${samples} ${stack}`);
  }
}

if (isMainThread && file !== undefined) {
  const sampler = namesStacks ? new StackSampler() : undefined;
  /** Collections since the last look; the observer gets them after the turn. */
  let collections = [];
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({ entryTypes: ['gc'] });
  let pending = [];
  let last = worked();
  let lastAt = performance.now();
  setInterval(() => {
    const now = worked();
    const at = performance.now();
    // The observer may get the collections of a turn some iterations later.
    const due = pending.filter((turn) => ++turn.looks > delayedLooks);
    for (const { ms, from, to, stacks } of due) {
      const paused = collections
        .filter(({ startTime, duration }) => startTime < to && startTime + duration > from)
        .reduce((sum, { duration }) => sum + duration, 0);
      const gcMs = paused * Math.min(1, ms / (to - from));
      const turn = { ms: Number(ms.toFixed(1)), gcMs: Number(Math.min(ms, gcMs).toFixed(1)), stacks };
      appendFileSync(file, `${JSON.stringify(turn)}\n`);
    }
    pending = pending.filter((turn) => !due.includes(turn));
    const since = Math.min(lastAt, ...pending.map(({ from }) => from));
    collections = collections.filter(({ startTime, duration }) => startTime + duration > since);
    if (now - last >= minReported)
      pending.push({ looks: 0, ms: now - last, from: lastAt, to: at, stacks: sampler?.stacksOfLast(at - lastAt) });
    else if (sampler?.isOld) sampler.restart();
    last = worked();
    lastAt = performance.now();
  }, resolution).unref();
}
