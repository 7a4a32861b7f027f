import { expect, test } from '@jest/globals';
import { TurnTime } from '@multiplane/component-base';
import { RequestTurns } from './request-turns.ts';

/** An event loop that turns when it is told to: a turn runs what was put off before it, one after the other. */
function loop(): { turns: RequestTurns; turn: () => void; work: (ms: number) => void } {
  let now = 0;
  const immediates: (() => void)[] = [];
  const turns = new RequestTurns({ time: new TurnTime({ now: () => now, later: (run) => immediates.push(run) }) });
  return {
    turns,
    turn: () => {
      for (const run of immediates.splice(0)) run();
    },
    work: (ms) => {
      now += ms;
    },
  };
}

test('few requests begin as they come', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 16; n++) turns.begin(() => seen.push(n));
    expect(seen).toHaveLength(16 * (round + 1));
    turn();
  }
});

test('many requests at once begin in their order, over turns that end after their time', () => {
  const { turns, turn, work } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 1_000; n++) {
    turns.begin(() => {
      seen.push(n);
      work(1);
    });
  }
  const perTurn: number[] = [seen.length];
  for (let last = seen.length; seen.length < 1_000; last = seen.length) {
    turn();
    perTurn.push(seen.length - last);
  }
  expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  expect(Math.max(...perTurn.slice(1))).toBe(10);
});

test('what comes while others wait waits behind them, and a quiet server is as quick as before', () => {
  const { turns, turn, work } = loop();
  const seen: string[] = [];
  for (let n = 0; n < 40; n++) {
    turns.begin(() => {
      seen.push('first');
      work(1);
    });
  }
  turns.begin(() => seen.push('second'));
  turn();
  turns.begin(() => seen.push('third'));
  for (let n = 0; n < 10; n++) turn();
  expect(seen.slice(-2)).toEqual(['second', 'third']);
  turns.begin(() => seen.push('at once'));
  expect(seen.at(-1)).toBe('at once');
});

test('after a few long ones nothing more begins at once', () => {
  const { turns, turn, work } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 4; n++) {
    turns.begin(() => {
      seen.push(n);
      work(3);
    });
  }
  expect(seen).toEqual([0, 1]);
  turn();
  expect(seen).toEqual([0, 1, 2, 3]);
});

test('a request that asks for others begins them as well', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 20; n++) turns.begin(() => turns.begin(() => seen.push(n)));
  for (let n = 0; n < 5; n++) turn();
  expect(seen).toHaveLength(20);
});
