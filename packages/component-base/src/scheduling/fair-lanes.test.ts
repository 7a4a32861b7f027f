import { describe, expect, test } from '@jest/globals';
import { FairLanes, systemLane } from './fair-lanes.ts';

/** Takes callbacks until `count` have run; each is charged the time that its lane needs. Returns the lanes in order. */
function served(lanes: FairLanes, costs: Readonly<Record<string, number>>, count: number): string[] {
  const order: string[] = [];
  const add = (lane: string): void => lanes.add(() => order.push(lane), lane);
  // Every lane always has three callbacks waiting.
  for (const lane of Object.keys(costs)) for (let n = 0; n < 3; n++) add(lane);
  while (order.length < count) {
    lanes.take()?.();
    const lane = order.at(-1) as string;
    add(lane);
    lanes.charge(costs[lane] as number);
  }
  return order;
}

const timeOf = (order: readonly string[], lane: string, cost: number): number =>
  order.filter((name) => name === lane).length * cost;

describe('fair lanes', () => {
  test('give each tenant the same time, however long its callbacks take', () => {
    const costs = { a: 10, b: 1, c: 5 };
    const order = served(new FairLanes(), costs, 1_000);
    const times = Object.entries(costs).map(([lane, cost]) => timeOf(order, lane, cost));
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(10);
  });

  test('serve a tenant that arrives before the backlog of another one', () => {
    const lanes = new FairLanes();
    const order: string[] = [];
    for (let n = 0; n < 100; n++) lanes.add(() => order.push('flood'), 'flood');
    for (let n = 0; n < 10; n++) {
      lanes.take()?.();
      lanes.charge(10);
    }
    lanes.add(() => order.push('neighbour'), 'neighbour');
    lanes.take()?.();
    expect(order.at(-1)).toBe('neighbour');
  });

  test('an idle past gives no credit', () => {
    const lanes = new FairLanes();
    served(lanes, { a: 10, b: 10 }, 1_000);
    const order = served(lanes, { a: 10, c: 10 }, 100);
    expect(Math.abs(timeOf(order, 'a', 10) - timeOf(order, 'c', 10))).toBeLessThanOrEqual(50);
  });

  test('the server has as much time as all tenants together, and no more', () => {
    const costs = { [systemLane]: 2, a: 5, b: 5, c: 5, d: 5 };
    const order = served(new FairLanes(), costs, 2_000);
    const system = timeOf(order, systemLane, 2);
    const tenants = ['a', 'b', 'c', 'd'].reduce((sum, lane) => sum + timeOf(order, lane, 5), 0);
    expect(Math.abs(system - tenants)).toBeLessThanOrEqual(10);
  });

  test('callbacks of one lane keep their order, and none is lost', () => {
    const lanes = new FairLanes();
    const seen = new Map<string, number[]>();
    let added = 0;
    let state = 1;
    const random = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >> 8) % limit;
    };
    const counts = new Map<string, number>();
    for (let round = 0; round < 20_000; round++) {
      if (random(2) === 0) {
        const lane = ['', 'a', 'b', 'c', `other ${random(500)}`][random(5)] as string;
        const number = (counts.get(lane) ?? 0) + 1;
        counts.set(lane, number);
        added++;
        lanes.add(() => {
          const list = seen.get(lane) ?? [];
          list.push(number);
          seen.set(lane, list);
        }, lane);
      } else {
        lanes.take()?.();
        lanes.charge(random(20));
      }
    }
    while (lanes.size > 0) {
      const callback = lanes.take();
      expect(callback).toBeDefined();
      callback?.();
      lanes.charge(1);
    }
    expect([...seen.values()].reduce((sum, list) => sum + list.length, 0)).toBe(added);
    for (const [lane, list] of seen) expect([lane, list]).toEqual([lane, list.toSorted((a, b) => a - b)]);
    expect(lanes.take()).toBeUndefined();
  });
});
