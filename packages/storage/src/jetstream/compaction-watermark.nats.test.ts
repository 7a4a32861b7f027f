import { randomUUID } from 'node:crypto';
import { NatsServer } from '@multiplane/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { StreamClient } from './stream-client.ts';
import { classifyWrite } from './stream-errors.ts';
import { StreamFloor } from './stream-floor.ts';
import { StreamSubjects } from './stream-subjects.ts';

let server: NatsServer;
beforeAll(async () => {
  server = await NatsServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A client that does something of its own right before one of its calls. */
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

test.each(['purgeBefore', 'publish', 'listenTo'] as const)(
  'a write that comes before the stream has its beginning is not taken: %s is still to come',
  async (call) => {
    const stream = `floor-${randomUUID()}`;
    const subjects = new StreamSubjects(stream);
    const client = await StreamClient.connect({ servers: [server.url], stream, subjectPrefix: stream }, 2000);
    try {
      const write = (): Promise<number> =>
        client.publish({ subject: subjects.encode('/a'), data: Buffer.from('1'), headers: {} });
      const early: unknown[] = [];
      const slow = interrupted(client, call, async () => {
        early.push(await write().catch((error: unknown) => classifyWrite(error, '/a').kind));
      });
      const { floor, sequence } = await new StreamFloor({ replicas: 1 }, slow, subjects).ensure();
      expect(early).toEqual(['no-stream']);
      expect(sequence).toBe(floor + 1);
      expect(await write()).toBe(sequence + 1);
    } finally {
      await client.close();
    }
  },
);

test('a stream that somebody has begun to make is made by who comes next', async () => {
  const stream = `floor-${randomUUID()}`;
  const subjects = new StreamSubjects(stream);
  const client = await StreamClient.connect({ servers: [server.url], stream, subjectPrefix: stream }, 2000);
  try {
    const dying = interrupted(client, 'listenTo', () => Promise.reject(new Error('killed')));
    await expect(new StreamFloor({ replicas: 1 }, dying, subjects).ensure()).rejects.toThrow('killed');
    const floor = new StreamFloor({ replicas: 1 }, client, subjects);
    // Its floor is there already, so a reader learns from the consumer that there is no such stream yet.
    const consumer = await floor.during(() =>
      client.addConsumer({ filter: subjects.filter('/a/'), from: 1, headersOnly: false }),
    );
    expect(consumer.stream_name).toBe(stream);
    expect(await floor.read()).toEqual(await floor.ensure());
  } finally {
    await client.close();
  }
});
