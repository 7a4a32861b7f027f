import { randomUUID } from 'node:crypto';
import { NatsServer } from '@multiplane/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { StreamClient } from './stream-client.ts';
import { classifyWrite } from './stream-errors.ts';
import { CompactionWatermark } from './compaction-watermark.ts';
import { StreamSubjects } from './stream-subjects.ts';

let server: NatsServer;
beforeAll(async () => {
  server = await NatsServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A client that runs a function before one of its calls. */
function interrupted(client: StreamClient, call: keyof StreamClient, before: () => Promise<unknown>): StreamClient {
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (name === call) await before();
        return await (Reflect.apply(value, target, args) as Promise<unknown>);
      };
    },
  });
}

test.each(['purgeBefore', 'publish', 'setSubjects'] as const)(
  'a write that comes before the stream has its beginning is not taken: %s is still to come',
  async (call) => {
    const stream = `watermark-${randomUUID()}`;
    const subjects = new StreamSubjects(stream);
    const client = await StreamClient.connect({ servers: [server.url], stream, subjectPrefix: stream }, 2000);
    try {
      const write = (): Promise<number> =>
        client.publish({ subject: subjects.encode('/a'), data: Buffer.from('1'), headers: {} });
      const early: unknown[] = [];
      const slow = interrupted(client, call, async () => {
        early.push(await write().catch((error: unknown) => classifyWrite(error, '/a').kind));
      });
      const { compacted, sequence } = await new CompactionWatermark(
        { replicas: 1 },
        { client: slow, subjects },
      ).ensure();
      expect(early).toEqual(['no-stream']);
      expect(sequence).toBe(compacted + 1);
      expect(await write()).toBe(sequence + 1);
    } finally {
      await client.close();
    }
  },
);

test('a stream whose creation was interrupted is completed by the next process', async () => {
  const stream = `watermark-${randomUUID()}`;
  const subjects = new StreamSubjects(stream);
  const client = await StreamClient.connect({ servers: [server.url], stream, subjectPrefix: stream }, 2000);
  try {
    const dying = interrupted(client, 'setSubjects', () => Promise.reject(new Error('killed')));
    await expect(new CompactionWatermark({ replicas: 1 }, { client: dying, subjects }).ensure()).rejects.toThrow(
      'killed',
    );
    const watermark = new CompactionWatermark({ replicas: 1 }, { client, subjects });
    // The watermark exists already, so a reader learns from the consumer that the stream is not complete yet.
    const consumer = await watermark.withStream(() =>
      client.addConsumer({ filter: subjects.filter('/a/'), from: 1, headersOnly: false }),
    );
    expect(consumer.stream_name).toBe(stream);
    expect(await watermark.read()).toEqual(await watermark.ensure());
  } finally {
    await client.close();
  }
});
