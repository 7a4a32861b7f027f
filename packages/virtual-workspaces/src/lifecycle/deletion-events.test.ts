import { expect, test } from '@jest/globals';
import type { Exchange } from '@multiplane/generic-server';
import { DeletionEvents } from './deletion-events.ts';

const line = (type: string, metadata: object): string => `${JSON.stringify({ type, object: { metadata } })}\n`;
const deleted = { name: 'b', deletionTimestamp: '2026-01-01T00:00:00Z' };
const events = [
  line('ADDED', { name: 'a' }),
  line('MODIFIED', deleted),
  line('BOOKMARK', { resourceVersion: '7' }),
  line('DELETED', { name: 'a', labels: { deletionTimestamp: 'x' } }),
  line('DELETED', deleted),
  `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status' } })}\n`,
];
const kept = [events[1], events[2], events[4], events[5]].join('');

test.each([1, 7, 60, 10_000])('only objects that are marked for deletion pass, in pieces of %i bytes', (size) => {
  const sent: string[] = [];
  let done = 0;
  const client = { write: (chunk: Buffer, ready?: () => void) => (sent.push(String(chunk)), ready?.(), true) };
  const filter = new DeletionEvents(client as unknown as Exchange);
  const bytes = Buffer.from(events.join(''));
  for (let at = 0; at < bytes.length; at += size) filter.write(bytes.subarray(at, at + size), () => done++);
  expect(sent.join('')).toBe(kept);
  // The writer is called back for what was dropped, too.
  expect(done).toBe(Math.ceil(bytes.length / size));
});
