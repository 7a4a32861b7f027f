import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
// oxlint-disable-next-line tests/no-real-timers -- a process that is killed, not a test
import { setTimeout as delay } from 'node:timers/promises';
import { isStorageError } from '../../src/errors.ts';
import type { Storage } from '../../src/interface.ts';
import { openFileStorage } from '../../src/file/open-file-storage.ts';

/**
 * TEST PROGRAM: writes to a store until it is killed, and prints each step, so that the test can verify the store
 * afterwards. One line per step:
 *
 *   I <key> <kind> <number>      about to write or delete
 *   A <key> <revision>           acknowledged
 *   F <key>                      refused because the store is full; retried
 *
 * Each worker has its own keys, so at most one step per key is undecided at any time.
 */
export interface CrashWriterOptions {
  readonly directory: string;
  /** First number of this run, so that no two runs write the same value. */
  readonly firstNumber: number;
  readonly workers: number;
  readonly valueBytes: number;
  readonly historyBytes: number;
  readonly reserveBytes?: number;
  readonly minIndexSnapshotBytes?: number;
}

export const crashPrefix = '/registry/crash/';
const keysPerWorker = 3;

/** A value that contains its number and shows whether it is complete. */
export function crashValue(number: number, bytes: number): Buffer {
  const text = `${number};`;
  return Buffer.from(text.repeat(Math.ceil(bytes / text.length)));
}

/** The number of a complete value; throws for other values. */
export function readCrashValue(value: Buffer): number {
  const number = Number.parseInt(value.toString('latin1', 0, 20), 10);
  if (!crashValue(number, value.length).equals(value))
    throw new Error(`half a value: ${value.toString('latin1', 0, 40)}`);
  return number;
}

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line at once, so that it is out before a kill; waits while the reader is behind and the pipe is full. */
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, line);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

async function run(options: CrashWriterOptions): Promise<void> {
  const { directory, firstNumber, workers, valueBytes, historyBytes, reserveBytes, minIndexSnapshotBytes } = options;
  const store = await openFileStorage({ directory, historyBytes, reserveBytes, minIndexSnapshotBytes });
  const revisions = new Map((await store.list(crashPrefix)).items.map(({ key, revision }) => [key, revision]));
  let number = firstNumber;
  const work = async (worker: number): Promise<never> => {
    for (;;) {
      const key = `${crashPrefix}${worker}/${number % keysPerWorker}`;
      const revision = revisions.get(key);
      const value = crashValue(++number, valueBytes);
      const kind = revision === undefined ? 'create' : number % 5 === 0 ? 'delete' : 'update';
      say(`I ${key} ${kind} ${number}\n`);
      try {
        const written = await write(store, kind, key, value, revision ?? 0);
        say(`A ${key} ${written}\n`);
        if (kind === 'delete') revisions.delete(key);
        else revisions.set(key, written);
      } catch (error) {
        if (!isStorageError(error, 'StorageFull')) throw error;
        say(`F ${key}\n`);
        await delay(20);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
}

function write(store: Storage, kind: string, key: string, value: Buffer, expected: number): Promise<number> {
  if (kind === 'create') return store.create(key, value);
  return kind === 'delete' ? store.delete(key, expected) : store.update(key, value, expected);
}

const [, program, options] = process.argv;
if (program?.endsWith('crash-writer.ts') === true && options !== undefined) {
  // Node writes the cache at exit, which no run of this program reaches.
  flushCompileCache();
  await run(JSON.parse(options) as CrashWriterOptions);
}
