import { expect, test } from '@jest/globals';
import { TimeSlicedQueue, EventLoopScheduler } from '@multiplane/component-base';
import { RequestBatcher } from './request-batcher.ts';

/** A batcher on an event loop that the test drives: `iterate` runs the callbacks that were scheduled before it. */
function loop(): { batcher: RequestBatcher; queue: TimeSlicedQueue; iterate: () => void; work: (ms: number) => void } {
  let now = 0;
  const immediates: (() => void)[] = [];
  const scheduler = new EventLoopScheduler(
    { now: () => now, schedule: (run) => immediates.push(run) },
    { sliceMs: 10 },
  );
  const batcher = new RequestBatcher({ scheduler });
  return {
    batcher,
    queue: new TimeSlicedQueue(scheduler),
    iterate: () => {
      for (const run of immediates.splice(0)) run();
    },
    work: (ms) => {
      now += ms;
    },
  };
}

/** Enough iterations to start all requests of a test. */
const iterations = 100;

test('a single request per iteration starts immediately', () => {
  const { batcher, iterate } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 5; n++) {
    batcher.start(() => seen.push(n));
    expect(seen).toHaveLength(n + 1);
    iterate();
  }
});

test('requests of one iteration start together at its end, in order', () => {
  const { batcher, iterate } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 3; n++) batcher.start(() => seen.push(n));
  // The first request starts immediately, because the previous iteration had a single one.
  expect(seen).toEqual([0]);
  iterate();
  expect(seen).toEqual([0, 1, 2]);
  for (let n = 3; n < 6; n++) batcher.start(() => seen.push(n));
  expect(seen).toHaveLength(3);
  iterate();
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  batcher.start(() => seen.push(6));
  iterate();
  batcher.start(() => seen.push(7));
  expect(seen.at(-1)).toBe(7);
});

test('a batch has a maximum size', () => {
  const { batcher, iterate } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 1_000; n++) batcher.start(() => seen.push(n));
  const perIteration: number[] = [];
  for (let n = 0; n < iterations; n++) {
    const before = seen.length;
    iterate();
    perIteration.push(seen.length - before);
  }
  expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  expect(Math.max(...perIteration)).toBe(32);
});

test('the batch size adapts to the duration of the previous batch', () => {
  const { batcher, iterate, work } = loop();
  let [started, cost] = [0, 1];
  for (let n = 0; n < 400; n++) {
    batcher.start(() => {
      started++;
      work(cost);
    });
  }
  iterate();
  const perIteration = (): number => {
    const before = started;
    iterate();
    return started - before;
  };
  expect([perIteration(), perIteration()]).toEqual([5, 5]);
  cost = 20;
  expect([perIteration(), perIteration(), perIteration()]).toEqual([5, 1, 1]);
  cost = 0;
  expect([perIteration(), perIteration(), perIteration(), perIteration()]).toEqual([1, 2, 4, 8]);
});

test('long requests of a batch share a time slice', () => {
  const { batcher, queue, iterate, work } = loop();
  const worked: number[] = [];
  const long = (): void => {
    const slices = queue.timeSlices();
    let steps = 0;
    for (; !slices.isExceeded; steps++) work(1);
    worked.push(steps);
  };
  for (let n = 0; n < 4; n++) batcher.start(long);
  iterate();
  // The first request started outside of the batch.
  expect(worked).toEqual([5, 5, 0, 0]);
  batcher.start(() => undefined);
  iterate();
  batcher.start(long);
  expect(worked.at(-1)).toBe(5);
});

test('requests start in order of arrival', () => {
  const { batcher, iterate } = loop();
  const seen: string[] = [];
  for (let n = 0; n < 40; n++) batcher.start(() => seen.push('first'));
  iterate();
  batcher.start(() => seen.push('second'));
  for (let n = 0; n < iterations; n++) iterate();
  expect(seen.slice(-2)).toEqual(['first', 'second']);
});

test('requests can start further requests', () => {
  const { batcher, iterate } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 20; n++) batcher.start(() => batcher.start(() => seen.push(n)));
  for (let n = 0; n < iterations; n++) iterate();
  expect(seen).toHaveLength(20);
});

test('owners take turns, so a request does not wait for all those of another owner', () => {
  const { batcher, iterate } = loop();
  const seen: string[] = [];
  for (let n = 0; n < 1_000; n++) batcher.start(() => seen.push(`flood ${n}`), 'flood');
  iterate();
  for (let n = 0; n < 3; n++) batcher.start(() => seen.push(`neighbour ${n}`), 'neighbour');
  iterate();
  const last = seen.slice(-32);
  expect(last.filter((name) => name.startsWith('neighbour'))).toEqual(['neighbour 0', 'neighbour 1', 'neighbour 2']);
  expect(last.filter((name) => name.startsWith('flood'))).toHaveLength(29);
  for (let n = 0; n < iterations; n++) iterate();
  const flood = seen.filter((name) => name.startsWith('flood'));
  expect(flood).toEqual(Array.from({ length: 1_000 }, (_, n) => `flood ${n}`));
});
