import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CompactStringMap } from './compact-string-map.ts';

test('behaves like a Map', () => {
  const key = fc.oneof(
    fc.constantFrom('', '__proto__', 'constructor', 'a', 'a/b', 'a/'),
    fc.stringMatching(/^[a-z0-9/:-]{0,12}$/),
  );
  const step = fc.oneof(
    fc.record({ key, value: fc.stringMatching(/^[a-z:]{0,20}$/) }),
    fc.record({ key, value: fc.constant(undefined) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const map = new CompactStringMap();
      const model = new Map<string, string>();
      for (const { key: name, value } of steps) {
        if (value === undefined) {
          map.delete(name);
          model.delete(name);
        } else {
          map.set(name, value);
          model.set(name, value);
        }
        expect(map.get(name)).toBe(model.get(name));
        expect(map.has(name)).toBe(model.has(name));
      }
      expect(map.size).toBe(model.size);
      for (const [name, value] of model) expect(map.get(name)).toBe(value);
    }),
    { numRuns: 60 },
  );
});

test('finds all of many entries, also after most were deleted', () => {
  const map = new CompactStringMap();
  const count = 50_000;
  for (let n = 0; n < count; n++) map.set(`cluster-${n}`, `value-${n}`);
  for (let n = 0; n < count; n++) map.set(`cluster-${n}`, `other-value-${n}`);
  for (let n = 0; n < count; n++) if (n % 10 !== 0) map.delete(`cluster-${n}`);
  expect(map.size).toBe(count / 10);
  const wrong = Array.from({ length: count }, (_, n) => n).filter(
    (n) => map.get(`cluster-${n}`) !== (n % 10 === 0 ? `other-value-${n}` : undefined),
  );
  expect(wrong).toEqual([]);
});
