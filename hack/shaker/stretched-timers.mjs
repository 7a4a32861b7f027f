// Loaded into jest, its workers and the processes that tests start: timers fire late, as on a machine that is short of CPU
// time, while sockets, files and other processes go on at their pace. Callbacks keep their order: timers by their time,
// immediates by their registration, as Node guarantees. MULTIPLANE_STRETCH: the factor of all delays.
import process from 'node:process';
import timers from 'node:timers';
import promises from 'node:timers/promises';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';

const factor = Number(process.env.MULTIPLANE_STRETCH ?? '1');
/** Iterations of the event loop that an immediate waits at most. */
const maxIterations = 4;

if (factor > 1) {
  const { setTimeout, setInterval, setImmediate, clearImmediate } = timers;
  /** setTimeout fires after 1 ms for a longer delay. */
  const stretched = (ms) => Math.min(Math.max(1, Number(ms) || 1) * factor, Math.max(2 ** 31 - 1, Number(ms) || 1));

  const lateTimeout = (callback, ms, ...rest) => setTimeout(callback, stretched(ms), ...rest);
  const lateInterval = (callback, ms, ...rest) => setInterval(callback, stretched(ms), ...rest);

  let random = process.pid;
  let iteration = 0;
  /** Immediates that are held back, in the order of their registration and of their `due`. */
  let held = [];

  /** Once per iteration while immediates are held back: hands those that are due to the next one, in their order. */
  const release = () => {
    iteration++;
    const due = held.findIndex((immediate) => immediate.due > iteration);
    const released = due < 0 ? held : held.slice(0, due);
    held = due < 0 ? [] : held.slice(due);
    for (const immediate of released) immediate.arm();
    if (held.length > 0) setImmediate(release);
  };

  class LateImmediate {
    #callback;
    #handle;
    #isReferenced = true;
    constructor(callback) {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
      const due = iteration + Math.floor((random / 2 ** 32) * maxIterations);
      this.due = Math.max(due, held.at(-1)?.due ?? 0);
      this.#callback = callback;
      if (held.push(this) === 1) setImmediate(release);
    }
    arm() {
      if (this.#callback === undefined) return;
      this.#handle = setImmediate(this.#callback);
      if (!this.#isReferenced) this.#handle.unref();
    }
    ref() {
      this.#isReferenced = true;
      this.#handle?.ref();
      return this;
    }
    unref() {
      this.#isReferenced = false;
      this.#handle?.unref();
      return this;
    }
    hasRef() {
      return this.#isReferenced;
    }
    clear() {
      this.#callback = undefined;
      clearImmediate(this.#handle);
    }
    [Symbol.dispose]() {
      this.clear();
    }
  }

  const lateImmediate = (callback, ...rest) => new LateImmediate(() => callback(...rest));
  const clearLateImmediate = (immediate) => {
    if (immediate instanceof LateImmediate) immediate.clear();
    else clearImmediate(immediate);
  };

  const { setTimeout: wait, setInterval: ticks } = promises;
  const lateWait = (ms, ...rest) => wait(stretched(ms), ...rest);
  const lateTicks = (ms, ...rest) => ticks(stretched(ms), ...rest);
  const lateTurn = (value, options) =>
    new Promise((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted) return reject(new DOMException('The operation was aborted', 'AbortError'));
      const immediate = new LateImmediate(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      });
      if (options?.ref === false) immediate.unref();
      const abort = () => {
        immediate.clear();
        reject(new DOMException('The operation was aborted', 'AbortError'));
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  lateTimeout[promisify.custom] = lateWait;
  lateImmediate[promisify.custom] = lateTurn;

  const late = {
    setTimeout: lateTimeout,
    setInterval: lateInterval,
    setImmediate: lateImmediate,
    clearImmediate: clearLateImmediate,
  };
  Object.assign(timers, late);
  Object.assign(promises, { setTimeout: lateWait, setInterval: lateTicks, setImmediate: lateTurn });
  Object.assign(globalThis, late);
  syncBuiltinESMExports();
}
