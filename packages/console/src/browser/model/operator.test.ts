import { expect, test } from '@jest/globals';
import {
  levelsOf,
  levelState,
  secondsText,
  shardState,
  totalsOf,
  workspaceCount,
  type ShardFigures,
} from './operator.ts';

const shard = (more: Partial<ShardFigures> = {}): ShardFigures => ({ name: 'root', url: 'https://a', ...more });
const level = (priorityLevel: string, inQueue: number, executing = 0, rejected = 0) => ({
  priorityLevel,
  inQueue,
  executing,
  rejected,
  seats: 10,
});

test.each([
  [{ failedChecks: [] }, 'good', 'Ready'],
  [{ error: 'the shard answered 503' }, 'bad', 'No answer'],
  [{ failedChecks: ['etcd'], eventLoopDelay: 1 }, 'bad', 'Not ready'],
  [{ eventLoopDelay: 0.051 }, 'warn', 'Overloaded'],
  [{ eventLoopDelay: 0.05 }, 'good', 'Ready'],
  [{ replication: { waiting: 0, lagSeconds: 11 } }, 'warn', 'Replication late'],
  [{ replication: { waiting: 900, lagSeconds: 2 } }, 'good', 'Ready'],
])('the health of a shard with %j', (more, tone, text) => {
  expect(shardState(shard(more))).toMatchObject({ tone, text });
});

test('totals count shards that answer and what they have', () => {
  const shards = [
    shard({
      failedChecks: [],
      logicalClusters: { Ready: 5, Deleting: 1 },
      pendingCount: 2,
      requests: { total: 9, errors: 0, inFlight: 3, watches: 40 },
    }),
    shard({ name: 'lost', error: 'it does not answer' }),
    shard({ name: 'slow', failedChecks: ['etcd'], logicalClusters: { Ready: 1 } }),
  ];
  expect(totalsOf(shards)).toEqual({ ready: 1, workspaces: 7, pending: 2, inFlight: 3, watches: 40 });
  expect(workspaceCount(shard())).toBe(0);
});

test('priority levels are summed over shards, those with waiting requests first', () => {
  const summed = levelsOf([
    shard({ flowControl: [level('low', 0, 1), level('high', 1)] }),
    shard({ name: 'b', flowControl: [level('low', 0, 2, 5)] }),
  ]);
  expect(summed).toEqual([level('high', 1), { ...level('low', 0, 3, 5), seats: 20 }]);
  expect(summed.map((each) => levelState(each).text)).toEqual(['Queueing', 'Has rejected']);
  expect([level('a', 0), level('b', 0, 1)].map((each) => levelState(each).text)).toEqual(['Idle', 'Has room']);
});

test.each([
  [0, '0 ms'],
  [0.0092, '9 ms'],
  [1.52, '1.5 s'],
  [240, '4 min'],
])('%d seconds are %s', (seconds, text) => expect(secondsText(seconds)).toBe(text));
