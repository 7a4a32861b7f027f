import { expect, test } from '@jest/globals';
import { eventLoopScheduler, systemClock } from '@multiplane/component-base';
import { type HubMember, WatchHub } from './watch-hub.ts';

const nextIteration = (): Promise<void> => new Promise((resolve) => void eventLoopScheduler.schedule(resolve));

test('a burst of events is written once per watch, before the event loop starts other work', async () => {
  const hub = new WatchHub({}, { clock: systemClock });
  const order: string[] = [];
  const watch = (name: string): HubMember & { event(): void } => {
    let isMarked = false;
    const member = {
      flush: () => {
        isMarked = false;
        order.push(name);
      },
      tick: () => undefined,
      event: () => {
        if (!isMarked) hub.mark(member);
        isMarked = true;
      },
    };
    return member;
  };
  const watches = [watch('a'), watch('b')];
  eventLoopScheduler.schedule(() => order.push('other work'));
  for (let n = 0; n < 3; n++) {
    await Promise.resolve();
    for (const each of watches) each.event();
  }
  expect(order).toEqual([]);
  await nextIteration();
  expect(order).toEqual(['a', 'b', 'other work']);
});

test('one event to thousands of watches is written in rounds between which the event loop continues', async () => {
  let time = 0;
  const hub = new WatchHub({}, { clock: { ...systemClock, monotonic: () => time } });
  let flushed = 0;
  for (let n = 0; n < 1_000; n++)
    hub.mark({
      flush: () => {
        time += 0.1;
        flushed++;
      },
      tick: () => undefined,
    });
  const after: number[] = [];
  for (let n = 0; n < 100 && after.at(-1) !== 1_000; n++) {
    await nextIteration();
    after.push(flushed);
  }
  expect(after[0]).toBeLessThanOrEqual(32 + 128);
  expect(after.at(-1)).toBe(1_000);
  expect(after.length).toBeGreaterThan(7);
});
