import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { compareKeys } from './key-order.ts';
import { OrderedTree, type OrderedView } from './ordered-tree.ts';

interface Item {
  readonly key: string;
  readonly version: number;
}

const numbered = (i: number): string => `k${String(i).padStart(5, '0')}`;
const key = fc.oneof(
  fc.integer({ min: 0, max: 3000 }).map(numbered),
  fc.constantFrom('', 'k', 'k00010/a', 'é', '\uE000', '\uFFFD', '😀', '\u{10FFFF}'),
);
const many = { from: fc.nat({ max: 3000 }), count: fc.nat({ max: 400 }) };
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), key }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('setMany' as const), ...many }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('deleteMany' as const), ...many }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('freeze' as const, 'thaw' as const, 'rebuild' as const) }),
    },
  ),
  { maxLength: 60 },
);

function sorted(model: ReadonlyMap<string, number>): Item[] {
  return [...model].map(([key, version]) => ({ key, version })).sort((a, b) => compareKeys(a.key, b.key));
}

function expectSame(view: OrderedView<Item>, items: readonly Item[], probes: readonly string[]): void {
  expect(view.size).toBe(items.length);
  expect(view.scan('', undefined)).toEqual(items);
  for (const probe of probes) {
    const rank = items.filter((item) => compareKeys(item.key, probe) < 0).length;
    expect(view.rank(probe)).toBe(rank);
    expect(view.get(probe)).toEqual(items[rank]?.key === probe ? items[rank] : undefined);
    expect(view.scan(probe, 'k02000', 5)).toEqual(
      items.filter((item) => compareKeys(item.key, probe) >= 0 && compareKeys(item.key, 'k02000') < 0).slice(0, 5),
    );
  }
}

describe('ordered tree', () => {
  test('behaves like a sorted list, and frozen views do not change', () => {
    fc.assert(
      fc.property(steps, fc.array(key, { maxLength: 5 }), (steps, probes) => {
        let tree = new OrderedTree<Item>();
        const model = new Map<string, number>();
        const frozen: { view: OrderedView<Item>; items: Item[] }[] = [];
        let version = 0;
        const set = (key: string): void => {
          const before = model.get(key);
          expect(tree.set({ key, version: ++version })?.version).toBe(before);
          model.set(key, version);
        };
        const remove = (key: string): void => {
          expect(tree.delete(key)?.version).toBe(model.get(key));
          model.delete(key);
        };
        for (const step of steps) {
          if (step.do === 'set') set(step.key);
          else if (step.do === 'delete') remove(step.key);
          else if (step.do === 'setMany') for (let i = 0; i < step.count; i++) set(numbered(step.from + i));
          else if (step.do === 'deleteMany') for (let i = 0; i < step.count; i++) remove(numbered(step.from + i));
          else {
            const view = tree.freeze();
            frozen.push({ view, items: sorted(model) });
            if (step.do === 'thaw') tree = view.thaw();
            if (step.do === 'rebuild') tree = OrderedTree.fromSorted(sorted(model), true);
          }
        }
        expectSame(tree, sorted(model), probes);
        for (const { view, items } of frozen) expectSame(view, items, probes);
      }),
      { numRuns: 60 },
    );
  });

  test('removing a hundred thousand keys in another order leaves an empty tree', () => {
    const tree = new OrderedTree<Item>();
    const count = 100_000;
    for (let i = 0; i < count; i++) tree.set({ key: numbered((i * 7919) % count), version: i });
    expect(tree.size).toBe(count);
    expect(tree.rank(numbered(77_777))).toBe(77_777);
    const half = tree.freeze();
    for (let i = 0; i < count; i++) expect(tree.delete(numbered((i * 104_729) % count))).toBeDefined();
    expect(tree.size).toBe(0);
    expect(tree.scan('', undefined)).toEqual([]);
    expect(half.size).toBe(count);
    expect(half.scan(numbered(500), numbered(503)).map((item) => item.key)).toEqual([500, 501, 502].map(numbered));
  });
});
