import { describe, expect, test } from '@jest/globals';
import { JobQueue, type QueuedJob } from './job-queue.ts';

type Queued = QueuedJob<string, void>;
const jobOf = (lane: string, name: string, bytes = 1): Queued => ({
  job: name,
  lane,
  bytes,
  resolve: () => undefined,
  reject: () => undefined,
});
const limits = { maxQueuedPerLane: 4, maxQueued: 8, maxQueuedBytes: 400 };

/** Runs all jobs one after the other, each for as many milliseconds as `durations` says of its lane. */
function drain(queue: JobQueue<string, void>, durations: Readonly<Record<string, number>>): string[] {
  const order: string[] = [];
  for (let job = queue.take(); job !== undefined; job = queue.take()) {
    order.push(job.job);
    queue.ended(job.lane, durations[job.lane] ?? 1);
  }
  return order;
}

describe('a queue of jobs', () => {
  test('serves lanes by the time they have used, and the jobs of a lane in their order', () => {
    const queue = new JobQueue<string, void>(limits);
    for (const name of ['slow1', 'slow2', 'slow3']) queue.add(jobOf('slow', name));
    for (const name of ['fast1', 'fast2', 'fast3']) queue.add(jobOf('fast', name));
    expect(drain(queue, { slow: 100, fast: 1 })).toEqual(['slow1', 'fast1', 'fast2', 'fast3', 'slow2', 'slow3']);
  });

  test('a lane has no credit for the time before its first job', () => {
    const queue = new JobQueue<string, void>(limits);
    for (const name of ['old1', 'old2', 'old3']) queue.add(jobOf('old', name));
    for (let count = 0; count < 2; count++) queue.ended(queue.take()?.lane ?? '', 100);
    for (const name of ['new1', 'new2', 'new3']) queue.add(jobOf('new', name));
    expect(drain(queue, { old: 100, new: 100 })).toEqual(['new1', 'old3', 'new2', 'new3']);
  });

  test('runs one job of a lane at a time', () => {
    const queue = new JobQueue<string, void>(limits);
    for (const name of ['a1', 'a2']) queue.add(jobOf('a', name));
    queue.add(jobOf('b', 'b1'));
    expect([queue.take()?.job, queue.take()?.job, queue.take()?.job, queue.hasNext]).toEqual([
      'a1',
      'b1',
      undefined,
      false,
    ]);
    queue.ended('a', 1);
    expect(queue.take()?.job).toBe('a2');
  });

  test('refuses a lane beyond its count and its bytes, and no other', () => {
    const queue = new JobQueue<string, void>(limits);
    for (let n = 0; n < 4; n++) expect(queue.add(jobOf('a', `a${n}`))).toBeUndefined();
    const refused = jobOf('a', 'a4');
    expect(queue.add(refused)).toBe(refused);
    expect(queue.add(jobOf('b', 'b0', 90))).toBeUndefined();
    const large = jobOf('b', 'b1', 90);
    expect(queue.add(large)).toBe(large);
    expect(queue.add(jobOf('c', 'c0', 90))).toBeUndefined();
  });

  test('a full queue drops the last job of the longest lane', () => {
    const queue = new JobQueue<string, void>(limits);
    for (let n = 0; n < 4; n++) queue.add(jobOf('flood', `flood${n}`));
    for (let n = 0; n < 4; n++) queue.add(jobOf(`other${n}`, `other${n}`));
    expect(queue.add(jobOf('modest', 'modest'))?.job).toBe('flood3');
    expect(drain(queue, {})).toHaveLength(8);
  });

  test('removes a job that was not taken', () => {
    const queue = new JobQueue<string, void>(limits);
    const [taken, queued] = [jobOf('a', 'taken'), jobOf('a', 'queued')];
    queue.add(taken);
    queue.add(queued);
    queue.take();
    expect([queue.remove(taken), queue.remove(queued), queue.remove(queued)]).toEqual([false, true, false]);
    queue.ended('a', 1);
    expect([queue.hasNext, queue.clear()]).toEqual([false, []]);
  });
});
