import { expect, test } from '@jest/globals';
import { LimitedErrors } from './limited-errors.ts';
import type { LogFields, Logger } from './logger.ts';

test('errors beyond ten a minute are counted, and the next line has their number', () => {
  const lines: (LogFields | undefined)[] = [];
  const logger = { error: (_message: string, fields?: LogFields) => lines.push(fields) } as unknown as Logger;
  let now = 5;
  const errors = new LimitedErrors({ logger, clock: { monotonic: () => now } });
  for (let count = 0; count < 1_000; count++) errors.error('failed', { count });
  expect(lines).toEqual(Array.from({ length: 10 }, (_, count) => ({ count })));
  now += 59_999;
  errors.error('failed', { count: 'too early' });
  expect(lines).toHaveLength(10);
  now += 1;
  errors.error('failed', { count: 'later' });
  errors.error('failed', { count: 'last' });
  expect(lines.slice(10)).toEqual([{ count: 'later', omitted: 991 }, { count: 'last' }]);
});
