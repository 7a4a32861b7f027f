import { expect, test } from '@jest/globals';
import { FakeClock } from '@multiplane/testing';
import { RemoteStorage } from './remote-storage.ts';
import { encodeFrame } from './storage-frames.ts';

/** A store behind a transport that gives these chunks, and then ends, fails or is silent until the request is aborted. */
function storeOf(chunks: readonly Buffer[], end: 'end' | 'cut' | 'silence' = 'end', statusCode = 200) {
  const clock = new FakeClock();
  const storage = new RemoteStorage(
    { pathPrefix: '' },
    {
      clock,
      transport: {
        open: async ({ signal }) => ({
          statusCode,
          async *[Symbol.asyncIterator]() {
            yield* chunks;
            if (end === 'cut') throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
            if (end === 'end') return;
            const silent = Promise.withResolvers<void>();
            signal?.addEventListener('abort', () => silent.reject(signal.reason as Error), { once: true });
            await silent.promise;
          },
        }),
      },
    },
  );
  return { clock, storage };
}

const watched = async (storage: RemoteStorage, signal = new AbortController().signal): Promise<unknown[]> => {
  const batches: unknown[] = [];
  for await (const batch of storage.watch('/cache/', { after: 0, signal })) batches.push(batch);
  return batches;
};
const value = Buffer.from('{"a":\n1}');
const written = Buffer.concat([
  encodeFrame({ type: 'put', key: '/cache/a', revision: 5, created: true }, value),
  encodeFrame({ type: 'delete', key: '/cache/b', revision: 6, created: false }),
  encodeFrame({ batch: 6 }),
]);

test.each([1, 7, 64, 10_000])('events arrive in chunks of %d bytes', async (size) => {
  const chunks = Array.from({ length: Math.ceil(written.length / size) }, (_, index) =>
    written.subarray(index * size, (index + 1) * size),
  );
  const { storage } = storeOf([...chunks, encodeFrame({ error: { code: 'Compacted', message: 'gone' } })]);
  const batches: { events: unknown[]; revision: number }[] = [];
  const reading = (async () => {
    for await (const batch of storage.watch('/cache/', { after: 0, signal: new AbortController().signal }))
      batches.push(batch as (typeof batches)[number]);
  })();
  await expect(reading).rejects.toMatchObject({ code: 'Compacted', message: 'gone' });
  expect(batches).toEqual([
    {
      revision: 6,
      events: [
        { type: 'put', key: '/cache/a', revision: 5, created: true, value },
        { type: 'delete', key: '/cache/b', revision: 6, created: false, value: undefined },
      ],
    },
  ]);
});

test.each(['end', 'cut'] as const)('a watch whose connection has an %s is Unavailable', async (end) => {
  await expect(watched(storeOf([written], end).storage)).rejects.toMatchObject({ code: 'Unavailable' });
});

test('a list that is cut is no list', async () => {
  const begun = encodeFrame({ list: { revision: 1, remaining: 0 } });
  await expect(storeOf([begun]).storage.list('/cache/')).rejects.toMatchObject({ code: 'Unavailable' });
  const complete = storeOf([begun, encodeFrame({ key: '/cache/a', revision: 1 }, value), encodeFrame({ end: true })]);
  expect(await complete.storage.list('/cache/')).toEqual({
    items: [{ key: '/cache/a', revision: 1, value }],
    revision: 1,
    remaining: 0,
  });
  expect(complete.clock.timers).toBe(0);
});

test('a watch ends as Unavailable when the server is silent, and with its signal', async () => {
  const silent = storeOf([], 'silence');
  const failing = watched(silent.storage).catch((error: unknown) => error);
  await silent.clock.advance(45_000);
  expect(await failing).toMatchObject({ code: 'Unavailable' });
  const stop = new AbortController();
  const { storage, clock } = storeOf([written], 'silence');
  const watching = watched(storage, stop.signal);
  await clock.advance(10);
  stop.abort();
  expect(await watching).toHaveLength(1);
  expect(clock.timers).toBe(0);
});

test('a write whose response is cut has an unknown outcome; a refusal has the code of the store', async () => {
  await expect(storeOf([], 'cut').storage.create('/cache/a', value)).rejects.toMatchObject({ code: 'OutcomeUnknown' });
  const refusal = Buffer.from(JSON.stringify({ storageError: { code: 'StorageFull', message: 'full' } }));
  await expect(storeOf([refusal], 'end', 409).storage.delete('/cache/a', 1)).rejects.toMatchObject({
    code: 'StorageFull',
    message: 'full',
  });
});

test('what is no frame is an error, and not kept in memory', async () => {
  const endless = storeOf([Buffer.alloc(70_000, 'x')], 'silence');
  await expect(watched(endless.storage)).rejects.toMatchObject({ code: 'Unavailable' });
});
