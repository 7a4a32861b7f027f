import { expect, test } from '@jest/globals';
import { sortIncrementally } from './sort-incrementally.ts';

test.each([0, 1, 2_000, 2_001, 31_337])('sorts %d items as the engine does, with pauses', (count) => {
  const items = Array.from({ length: count }, (_, index) => ({ key: (index * 7_919) % 1_009, index }));
  const compare = (a: (typeof items)[number], b: (typeof items)[number]): number => a.key - b.key;
  const steps = sortIncrementally([...items], compare);
  let pauses = 0;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) {
      // Stable: equal keys keep their order.
      expect(step.value).toEqual(items.toSorted(compare));
      break;
    }
    pauses++;
  }
  expect(pauses).toBeGreaterThanOrEqual(count > 2_000 ? count / 2_000 : 0);
});
