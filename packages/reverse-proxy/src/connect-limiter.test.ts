import { expect, test } from '@jest/globals';
import type { buildConnector } from 'undici';
import { limitConcurrentConnects } from './connect-limiter.ts';

const target = { hostname: 'x', protocol: 'https:', port: '1' };

test('limits concurrent connects, whether they succeed or fail', () => {
  const started: buildConnector.Callback[] = [];
  const done: string[] = [];
  let connected = 0;
  const connect = limitConcurrentConnects(
    { maxConcurrent: 2 },
    { connect: (_target, callback) => void started.push(callback), onConnected: () => connected++ },
  );
  for (const name of ['a', 'b', 'c', 'd']) {
    connect(target, (...[error]) => void done.push(`${name} ${error === null ? 'made' : error.message}`));
  }
  expect(started.length).toBe(2);
  started[0]?.(new Error('refused'), null);
  expect([started.length, done, connected]).toEqual([3, ['a refused'], 0]);
  started[2]?.(null, {} as never);
  started[1]?.(null, {} as never);
  started[3]?.(null, {} as never);
  expect(done).toEqual(['a refused', 'c made', 'b made', 'd made']);
  expect(connected).toBe(3);
});
