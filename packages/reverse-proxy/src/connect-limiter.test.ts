import { expect, test } from '@jest/globals';
import type { buildConnector } from 'undici';
import { pacedConnector } from './paced-connector.ts';

const target = { hostname: 'x', protocol: 'https:', port: '1' };

test('makes so many connections at once and no more, whether they succeed or not', () => {
  const begun: buildConnector.Callback[] = [];
  const done: string[] = [];
  let connected = 0;
  const connect = pacedConnector(
    { atOnce: 2 },
    { connect: (_target, callback) => void begun.push(callback), onConnected: () => connected++ },
  );
  for (const name of ['a', 'b', 'c', 'd']) {
    connect(target, (...[error]) => void done.push(`${name} ${error === null ? 'made' : error.message}`));
  }
  expect(begun.length).toBe(2);
  begun[0]?.(new Error('refused'), null);
  expect([begun.length, done, connected]).toEqual([3, ['a refused'], 0]);
  begun[2]?.(null, {} as never);
  begun[1]?.(null, {} as never);
  begun[3]?.(null, {} as never);
  expect(done).toEqual(['a refused', 'c made', 'b made', 'd made']);
  expect(connected).toBe(3);
});
