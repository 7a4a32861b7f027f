import { expect, test } from '@jest/globals';
import { TurnQueue, TurnTime } from '@multiplane/component-base';
import { RequestTurns } from './request-turns.ts';

/** An event loop that turns when it is told to: a turn runs what was put off before it, one after the other. */
function loop(): { turns: RequestTurns; queue: TurnQueue; turn: () => void; work: (ms: number) => void } {
  let now = 0;
  const immediates: (() => void)[] = [];
  const time = new TurnTime({ now: () => now, later: (run) => immediates.push(run) });
  const turns = new RequestTurns({ time });
  return {
    turns,
    queue: new TurnQueue(time),
    turn: () => {
      for (const run of immediates.splice(0)) run();
    },
    work: (ms) => {
      now += ms;
    },
  };
}

/** So many turns that nobody waits any more. */
const enough = 100;

test('whoever comes alone begins at once', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 5; n++) {
    turns.begin(() => seen.push(n));
    expect(seen).toHaveLength(n + 1);
    turn();
  }
});

test('those of one turn begin together at its end, in their order', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 3; n++) turns.begin(() => seen.push(n));
  // Nobody could know that others would come.
  expect(seen).toEqual([0]);
  turn();
  expect(seen).toEqual([0, 1, 2]);
  for (let n = 3; n < 6; n++) turns.begin(() => seen.push(n));
  expect(seen).toHaveLength(3);
  turn();
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  turns.begin(() => seen.push(6));
  turn();
  turns.begin(() => seen.push(7));
  expect(seen.at(-1)).toBe(7);
});

test('of many at once only some begin in a turn', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 1_000; n++) turns.begin(() => seen.push(n));
  const perTurn: number[] = [];
  for (let n = 0; n < enough; n++) {
    const before = seen.length;
    turn();
    perTurn.push(seen.length - before);
  }
  expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  expect(Math.max(...perTurn)).toBe(32);
});

test('fewer begin together when they take long, and more again when they do not', () => {
  const { turns, turn, work } = loop();
  let [began, cost] = [0, 1];
  for (let n = 0; n < 400; n++) {
    turns.begin(() => {
      began++;
      work(cost);
    });
  }
  turn();
  const perTurn = (): number => {
    const before = began;
    turn();
    return began - before;
  };
  expect([perTurn(), perTurn()]).toEqual([5, 5]);
  cost = 20;
  expect([perTurn(), perTurn(), perTurn()]).toEqual([5, 1, 1]);
  cost = 0;
  expect([perTurn(), perTurn(), perTurn(), perTurn()]).toEqual([1, 2, 4, 8]);
});

test('long ones that begin together share their time', () => {
  const { turns, queue, turn, work } = loop();
  const worked: number[] = [];
  const long = (): void => {
    const slices = queue.slices();
    let steps = 0;
    for (; !slices.over; steps++) work(1);
    worked.push(steps);
  };
  for (let n = 0; n < 4; n++) turns.begin(long);
  turn();
  // The first came when nobody else was there.
  expect(worked).toEqual([5, 5, 0, 0]);
  turns.begin(() => undefined);
  turn();
  turns.begin(long);
  expect(worked.at(-1)).toBe(5);
});

test('what comes while others wait waits behind them', () => {
  const { turns, turn } = loop();
  const seen: string[] = [];
  for (let n = 0; n < 40; n++) turns.begin(() => seen.push('first'));
  turn();
  turns.begin(() => seen.push('second'));
  for (let n = 0; n < enough; n++) turn();
  expect(seen.slice(-2)).toEqual(['first', 'second']);
});

test('a request that asks for others begins them as well', () => {
  const { turns, turn } = loop();
  const seen: number[] = [];
  for (let n = 0; n < 20; n++) turns.begin(() => turns.begin(() => seen.push(n)));
  for (let n = 0; n < enough; n++) turn();
  expect(seen).toHaveLength(20);
});
