import { describe, expect, test } from '@jest/globals';
import { RequestWork } from './request-work.ts';

const large = 64 * 1024;
/** Longer than a time slice. */
const stageMs = 10;

function stage(): void {
  for (const end = performance.now() + stageMs; performance.now() < end;);
}

/** Whether callbacks of the event loop have run when `work` has ended. */
async function letsOthersRun(work: () => Promise<unknown>): Promise<boolean> {
  let ran = false;
  // oxlint-disable-next-line tests/no-real-timers -- what the work has to let run
  setImmediate(() => (ran = true));
  await work();
  return ran;
}

const stages = (work: RequestWork) => async (): Promise<void> => {
  for (let count = 0; count < 3; count++) {
    await work.pause();
    stage();
  }
};

function* chunks(done: number[], during: (chunk: number) => void = () => undefined): Generator<void, string> {
  for (let chunk = 0; chunk < 5; chunk++) {
    stage();
    done.push(chunk);
    during(chunk);
    yield;
  }
  return 'all';
}

describe('the work of a request', () => {
  test('yields between the stages over something large', async () => {
    const work = new RequestWork();
    work.grow(large);
    expect(await letsOthersRun(stages(work))).toBe(true);
  });

  test('does not yield between the stages over something small, and never reads the signal', async () => {
    const signal = (): AbortSignal => {
      throw new Error('the signal was read');
    };
    const work = new RequestWork({ signal });
    work.grow(large - 1);
    expect(await letsOthersRun(stages(work))).toBe(false);
    expect(await letsOthersRun(() => work.run(chunks([])))).toBe(false);
  });

  test('is as large as the largest of what it has to do with', () => {
    const work = new RequestWork();
    for (const bytes of [3, 7, 5]) work.grow(bytes);
    expect(work.bytes).toBe(7);
  });

  test('ends before the next chunk once the request is aborted', async () => {
    const controller = new AbortController();
    const work = new RequestWork({ signal: () => controller.signal });
    work.grow(large);
    const done: number[] = [];
    const reading = work.run(
      chunks(done, (chunk) => {
        if (chunk === 2) controller.abort(new Error('client disconnected'));
      }),
    );
    await expect(reading).rejects.toThrow('client disconnected');
    expect(done).toEqual([0, 1, 2]);
  });

  test('returns what the last chunk results in', async () => {
    await expect(new RequestWork().run(chunks([]))).resolves.toBe('all');
  });
});
