import { describe, expect, test } from '@jest/globals';
import { checkHistory } from './check-linearizable.ts';
import { checkWatch, type Received } from './check-watch.ts';
import type { Action, Operation } from './operation.ts';

const op = (start: number, end: number, action: Action): Operation => ({ client: 0, key: 'a', start, end, action });
const create = (value: string, revision: number): Action => ({ kind: 'create', value, outcome: { revision } });
const update = (value: string, expected: number, revision: number): Action => ({
  kind: 'update',
  value,
  expected,
  outcome: { revision },
});
const read = (value: string, revision: number): Action => ({ kind: 'read', outcome: { value, revision } });
const unknown = (value: string, expected: number): Action => ({ kind: 'update', value, expected, outcome: 'unknown' });
const gone: Action = { kind: 'read', outcome: 'missing' };
const deletes = (expected: number): Action => ({ kind: 'delete', expected, outcome: 'deleted' });

describe('a history is linearizable', () => {
  test.each<[string, Operation[]]>([
    [
      'in sequence',
      [op(0, 1, create('x', 5)), op(2, 3, read('x', 5)), op(4, 5, update('y', 5, 9)), op(6, 7, read('y', 9))],
    ],
    [
      'with a read during a write that sees the old value',
      [op(0, 1, create('x', 5)), op(2, 9, update('y', 5, 6)), op(3, 4, read('x', 5))],
    ],
    [
      'with a read during a write that sees the new value',
      [op(0, 1, create('x', 5)), op(2, 9, update('y', 5, 6)), op(3, 4, read('y', 6))],
    ],
    [
      'with an unknown write that took effect later',
      [
        op(0, 1, create('x', 5)),
        op(2, Infinity, unknown('y', 5)),
        op(3, 4, read('x', 5)),
        op(5, 6, read('y', 8)),
        op(7, 8, update('z', 8, 9)),
      ],
    ],
    [
      'with an unknown write that never took effect',
      [op(0, 1, create('x', 5)), op(2, Infinity, unknown('y', 5)), op(3, 4, update('z', 5, 7))],
    ],
    [
      'with a delete and a new object',
      [op(0, 1, create('x', 5)), op(2, 3, deletes(5)), op(4, 5, gone), op(6, 7, create('y', 9))],
    ],
    [
      'with a conflict',
      [
        op(0, 1, create('x', 5)),
        op(2, 3, update('y', 5, 6)),
        op(4, 5, { kind: 'update', value: 'z', expected: 5, outcome: 'conflict' }),
      ],
    ],
  ])('%s', (_, history) => {
    expect(checkHistory(history)).toEqual([]);
  });
});

describe('a history is not linearizable', () => {
  test.each<[string, Operation[]]>([
    [
      'when an acknowledged write is lost',
      [op(0, 1, create('x', 5)), op(2, 3, update('y', 5, 6)), op(4, 5, read('x', 5))],
    ],
    ['when an acknowledged create is lost', [op(0, 1, create('x', 5)), op(2, 3, gone)]],
    ['when a deleted object comes back', [op(0, 1, create('x', 5)), op(2, 3, deletes(5)), op(4, 5, read('x', 5))]],
    [
      'when a read goes back in time',
      [op(0, 1, create('x', 5)), op(2, 20, update('y', 5, 6)), op(3, 4, read('y', 6)), op(5, 6, read('x', 5))],
    ],
    [
      'when two updates succeed from one revision',
      [op(0, 1, create('x', 5)), op(2, 9, update('y', 5, 6)), op(2, 9, update('z', 5, 7))],
    ],
    ['when a revision is used again', [op(0, 1, create('x', 5)), op(2, 3, deletes(5)), op(4, 5, create('y', 5))]],
    [
      'when a conflict had no cause',
      [op(0, 1, create('x', 5)), op(2, 3, { kind: 'update', value: 'z', expected: 5, outcome: 'conflict' })],
    ],
    [
      'when a refused write is read',
      [op(0, 1, create('x', 5)), op(2, 3, { kind: 'create', value: 'w', outcome: 'exists' }), op(4, 5, read('w', 7))],
    ],
    [
      'when an unknown write takes effect and is undone',
      [op(0, 1, create('x', 5)), op(2, Infinity, unknown('y', 5)), op(3, 4, read('y', 8)), op(5, 6, read('x', 5))],
    ],
  ])('%s', (_, history) => {
    expect(checkHistory(history)).toEqual([expect.stringContaining('not linearizable')]);
  });
});

describe('a watch', () => {
  const history = [
    op(0, 1, create('x', 5)),
    op(2, 3, update('y', 5, 6)),
    op(4, 5, deletes(6)),
    op(6, 7, create('z', 9)),
  ];
  const list: Received = { type: 'LIST', revision: 4, objects: new Map() };
  const added: Received = { type: 'ADDED', key: 'a', revision: 5, value: 'x' };
  const modified: Received = { type: 'MODIFIED', key: 'a', revision: 6, value: 'y' };
  const deleted: Received = { type: 'DELETED', key: 'a', revision: 7, value: 'y' };
  const again: Received = { type: 'ADDED', key: 'a', revision: 9, value: 'z' };

  test('that receives everything in order is right, also from a later list on', () => {
    expect(checkWatch([list, added, modified, deleted, again], history)).toEqual([]);
    const later: Received = { type: 'LIST', revision: 6, objects: new Map([['a', 'y']]) };
    expect(checkWatch([list, added, later, deleted, { type: 'BOOKMARK', revision: 8 }, again], history)).toEqual([]);
  });

  test.each<[string, Received[], string]>([
    ['misses an event', [list, added, deleted, again], 'revision 6 was not received'],
    ['receives one twice', [list, added, added, modified, deleted], 'follows revision 5'],
    ['receives them out of order', [list, modified, added], 'which is absent'],
    [
      'has a bookmark ahead of an event',
      [list, added, { type: 'BOOKMARK', revision: 6 }, modified],
      'follows revision 6',
    ],
    ['has another revision', [list, added, { ...modified, revision: 8 }], 'its writer was told revision 6'],
    ['has a value that was not written', [list, { ...added, value: 'other' }], 'no client wrote'],
  ])('that %s is wrong', (_, received, problem) => {
    expect(checkWatch(received, history).join('\n')).toContain(problem);
  });
});
