import { expect, test } from '@jest/globals';
import { findCondition, isConditionTrue, setCondition } from './conditions.ts';

const first = new Date('2026-01-01T00:00:00Z');
const later = new Date('2026-01-02T00:00:00Z');

test('the time of a condition moves with its status only, and nothing changes without a change', () => {
  const ready = { type: 'Ready', status: 'False', reason: 'Waiting', message: 'm' } as const;
  const one = setCondition(undefined, ready, first);
  expect(one).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }]);
  expect(setCondition(one, ready, later)).toBe(one);
  const reworded = setCondition(one, { ...ready, message: 'n', observedGeneration: 2 }, later);
  expect(reworded[0]).toMatchObject({
    message: 'n',
    observedGeneration: 2,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const other = setCondition(reworded, { ...ready, type: 'Other', status: 'True' }, later);
  const turned = setCondition(other, { ...ready, status: 'True' }, later);
  expect(turned.map(({ type }) => type)).toEqual(['Ready', 'Other']);
  expect(findCondition(turned, 'Ready')?.lastTransitionTime).toBe('2026-01-02T00:00:00Z');
  expect(isConditionTrue(turned, 'Ready')).toBe(true);
  expect(isConditionTrue(one, 'Ready')).toBe(false);
  expect(isConditionTrue(undefined, 'Ready')).toBe(false);
});
