import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { BodyRelay } from './body-relay.ts';

test('a body that the client breaks off while no upstream reads it fails without an uncaught error', async () => {
  const source = new PassThrough();
  const relay = new BodyRelay(source);
  const closed = new Promise<void>((resolve) => {
    relay.on('close', () => resolve());
  });
  source.emit('aborted');
  await closed;
  expect(relay.errored?.message).toBe('the client aborted the request body');
});
