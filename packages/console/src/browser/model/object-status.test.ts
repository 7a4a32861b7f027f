import { expect, test } from '@jest/globals';
import { stateOf } from './object-status.ts';

test('reads phase and conditions', () => {
  const status = {
    phase: 'Ready',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  };
  expect(stateOf({ status })).toEqual({
    phase: 'Ready',
    conditions: [
      { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  });
});

test.each([
  undefined,
  null,
  'Ready',
  [],
  { phase: { a: 1 }, conditions: { a: 1 } },
  { conditions: [null, 'x', { type: 3 }] },
])('has nothing to say of %j', (status) => expect(stateOf({ status })).toEqual({ phase: undefined, conditions: [] }));

test('a condition with values of other types has texts', () => {
  expect(stateOf({ status: { conditions: [{ type: 'A', status: 1, message: { x: 1 } }] } }).conditions).toEqual([
    { type: 'A', status: 'Unknown', reason: '', message: '' },
  ]);
});
