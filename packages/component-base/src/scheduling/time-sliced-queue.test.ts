import { describe, expect, test } from '@jest/globals';
import { nextTurn, TurnQueue, TurnTime, type Slices } from './turn-queue.ts';

/** An event loop that turns when it is told to: a turn runs what was put off before it, one after the other. */
function loop(turnMs?: number): {
  queue: TurnQueue;
  other: TurnQueue;
  turn: () => void;
  /** With all that follows from it. */
  wholeTurn: () => Promise<void>;
  work: (ms: number) => void;
} {
  let now = 0;
  const immediates: (() => void)[] = [];
  const time = new TurnTime({ now: () => now, later: (run) => immediates.push(run) }, { turnMs });
  return {
    queue: new TurnQueue(time),
    other: new TurnQueue(time),
    turn: () => {
      for (const run of immediates.splice(0)) run();
    },
    wholeTurn: async () => {
      for (const run of immediates.splice(0)) {
        run();
        await microtasks();
      }
    },
    work: (ms) => {
      now += ms;
    },
  };
}

const microtasks = (): Promise<unknown> => new Promise((resolve) => void setImmediate(resolve));

describe('work in turns of the event loop', () => {
  test('that is little runs in the next turn, all of it', () => {
    const { queue, turn } = loop();
    const seen: number[] = [];
    for (let n = 0; n < 60; n++) queue.add(() => seen.push(n));
    expect(seen).toEqual([]);
    turn();
    expect(seen).toHaveLength(60);
    expect(queue.isEmpty).toBe(true);
  });

  test('that is much runs in its order, in turns that end after their time', () => {
    const { queue, turn, work } = loop();
    const seen: number[] = [];
    for (let n = 0; n < 1_000; n++) {
      queue.add(() => {
        seen.push(n);
        work(1);
      });
    }
    const perTurn: number[] = [];
    for (let last = 0; seen.length < 1_000; last = seen.length) {
      turn();
      perTurn.push(seen.length - last);
    }
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(Math.max(...perTurn)).toBe(10);
    expect(Math.min(...perTurn)).toBe(10);
  });

  test('loops that all pause together go on by turns, and one that never ends keeps none of them', () => {
    const { queue, turn, work } = loop();
    const done = new Map<string, number>();
    const begin = (name: string, slices: number): void => {
      queue.add(() => {
        work(8);
        done.set(name, (done.get(name) ?? 0) + 1);
        if (slices > 1) begin(name, slices - 1);
      });
    };
    begin('endless', Number.POSITIVE_INFINITY);
    for (let n = 0; n < 20; n++) begin(`loop ${n}`, 3);
    let last = 0;
    for (let turns = 0; turns < 100; turns++) {
      turn();
      const all = [...done.values()].reduce((sum, count) => sum + count, 0);
      expect(all - last).toBeLessThanOrEqual(2);
      last = all;
    }
    for (let n = 0; n < 20; n++) expect(done.get(`loop ${n}`)).toBe(3);
    expect(done.get('endless')).toBeGreaterThan(40);
  });

  test('one that takes long takes a turn of its own', () => {
    const { queue, turn, work } = loop();
    const seen: string[] = [];
    queue.add(() => {
      seen.push('long');
      work(500);
    });
    queue.add(() => seen.push('next'));
    turn();
    expect(seen).toEqual(['long']);
    turn();
    turn();
    expect(seen).toEqual(['long', 'next']);
  });

  test('of several queues shares the time of a turn, and none waits for another', () => {
    const { queue, other, turn, work } = loop();
    const perTurn = { queue: 0, other: 0 };
    for (let n = 0; n < 100; n++) {
      queue.add(() => {
        perTurn.queue++;
        work(1);
      });
    }
    for (let n = 0; n < 3; n++) {
      other.add(() => {
        perTurn.other++;
        work(4);
      });
    }
    turn();
    expect(perTurn).toEqual({ queue: 10, other: 1 });
    turn();
    turn();
    expect(perTurn).toEqual({ queue: 30, other: 3 });
    turn();
    expect(perTurn).toEqual({ queue: 40, other: 3 });
  });

  test('in slices ends with its turn, whoever has had some of it before', async () => {
    const { queue, wholeTurn, work } = loop();
    const order: string[] = [];
    const long = async (name: string, slices: Slices): Promise<void> => {
      for (let n = 0; n < 12; n++) {
        order.push(name);
        work(1);
        if (slices.over) await slices.next();
      }
    };
    // Half a turn each, before there is one.
    const both = [long('a', queue.slices()), long('b', queue.slices())];
    expect(order.join('')).toBe('aaaaabbbbb');
    order.length = 0;
    await wholeTurn();
    expect(order.join('')).toBe('aaaaaaabbb');
    await wholeTurn();
    expect(order.join('')).toBe('aaaaaaabbbbbbb');
    await Promise.all(both);
  });

  test('has time left from its begin until the turn is used up', () => {
    const { queue, turn, work } = loop(2);
    const left: boolean[] = [];
    const look = (): void => void left.push(queue.hasTime);
    look();
    queue.add(() => {
      look();
      work(1);
      look();
      work(1);
      look();
    });
    turn();
    look();
    turn();
    look();
    expect(left).toEqual([false, true, true, false, false, false]);
  });
});

test('what pauses goes on in a later turn', async () => {
  const order: string[] = [];
  const pausing = nextTurn().then(() => order.push('later'));
  await Promise.resolve();
  order.push('now');
  await pausing;
  expect(order).toEqual(['now', 'later']);
});
