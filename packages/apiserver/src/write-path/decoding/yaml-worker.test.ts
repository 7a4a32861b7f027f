// oxlint-disable tests/no-real-time-with-fake-clock -- another thread parses
import { afterAll, describe, expect, test } from '@jest/globals';
import { runToCompletion, type ParsedYaml } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import type { YamlDocument } from './yaml-reader.ts';
import { YamlWorker } from './yaml-worker.ts';
import { FakeClock, turnsDuring } from '@multiplane/testing';

const parsed = (document: YamlDocument): ParsedYaml => runToCompletion(document());
const long = (text: string): Buffer => Buffer.from(`${text}\n${'# nothing to see\n'.repeat(2000)}`);

describe('YamlWorker', () => {
  const worker = new YamlWorker({ clock: systemClock });
  afterAll(() => worker.stop());

  test('parses long texts like short ones, and more than once', async () => {
    const text = 'a: 9007199254740993\n__proto__: {b: yes}\nc: "\\ud83d\\ude00"\nc: 0x1F';
    const inline = await worker.read(Buffer.from(text));
    const inThread = await worker.read(long(text));
    const expected = { value: { a: 9007199254740993n, c: 31 }, duplicates: ['line 4: key "c" already set in map'] };
    for (const { value, duplicates } of [inline, inThread, inThread].map(parsed)) {
      expect(value).toMatchObject(expected.value);
      expect(Object.keys(value as object)).toEqual(['a', '__proto__', 'c']);
      expect(duplicates).toEqual(expected.duplicates);
    }
    expect(parsed(inThread).value).not.toBe(parsed(inThread).value);
  });

  test('reports a syntax error when the document is read, and parses the next text', async () => {
    const [bad, good] = await Promise.all([worker.read(long('a: [')), worker.read(long('a: b'))]);
    expect(() => parsed(bad)).toThrow(
      expect.objectContaining({ name: 'YamlSyntaxError', message: expect.stringMatching(/^yaml: /) }),
    );
    expect(parsed(good).value).toEqual({ a: 'b' });
  });

  test('does not block the event loop while a megabyte is parsed', async () => {
    const text = Buffer.from(Array.from({ length: 40_000 }, (_, i) => `key${i}: value ${i}\n`).join(''));
    const { turns, result } = await turnsDuring(() => worker.read(text));
    expect(Object.keys(parsed(result).value as object)).toHaveLength(40_000);
    expect(turns).toBeGreaterThan(10);
  });

  test('parses JSON without the thread, unless keys are duplicated', async () => {
    const json = `{"a": 1, "pad": "${'x'.repeat(20_000)}"}`;
    const document = await worker.read(Buffer.from(json));
    expect(parsed(document).value).toEqual(parsed(document).value);
    const repeated = await worker.read(Buffer.from(`{"a": 2, ${json.slice(1)}`));
    expect(parsed(repeated).duplicates).toEqual(['line 1: key "a" already set in map']);
  });
});

test('a text that takes too long is rejected, and the next is parsed', async () => {
  const clock = new FakeClock();
  const worker = new YamlWorker({ clock });
  const slow = worker.read(Buffer.from(Array.from({ length: 100_000 }, (_, i) => `- - ${i}\n`).join('')));
  const next = worker.read(long('a: b'));
  await clock.advance(30_000);
  await expect(slow.then(parsed)).rejects.toThrow('yaml: document takes too long to read');
  expect(parsed(await next).value).toEqual({ a: 'b' });
  await worker.stop();
});

test('waiting texts are rejected with 503 on stop', async () => {
  const worker = new YamlWorker({ clock: systemClock });
  const waiting = Promise.allSettled([worker.read(long('a: b')), worker.read(long('a: c'))]);
  await worker.stop();
  for (const result of await waiting) expect(result).toMatchObject({ status: 'rejected', reason: { code: 503 } });
});

describe('an aborted request', () => {
  const gone = new Error('client disconnected');
  const slowText = Buffer.from(Array.from({ length: 200_000 }, (_, i) => `- - ${i}\n`).join(''));

  test('leaves a thread that starts at once, which runs the next job', async () => {
    const worker = new YamlWorker({ clock: new FakeClock() });
    const controller = new AbortController();
    const left = Promise.allSettled([worker.read(slowText, { cluster: 'a', request: controller })]);
    const next = worker.read(long('a: c'), { cluster: 'a', request: {} });
    controller.abort(gone);
    expect(await left).toEqual([{ status: 'rejected', reason: gone }]);
    expect(parsed(await next).value).toEqual({ a: 'c' });
    await worker.stop();
  });

  test('leaves the queue at once, and its running job ends with the thread', async () => {
    const clock = new FakeClock();
    const worker = new YamlWorker({ clock });
    const controller = new AbortController();
    const from = { cluster: 'a', request: controller };
    await worker.read(long('a: b'), from);
    const left = Promise.allSettled([worker.read(slowText, from), worker.read(long('a: b'), from)]);
    const next = worker.read(long('a: c'), { cluster: 'a', request: {} });
    controller.abort(gone);
    for (const result of await left) expect(result).toEqual({ status: 'rejected', reason: gone });
    await clock.advance(250);
    expect(parsed(await next).value).toEqual({ a: 'c' });
    await expect(worker.read(long('a: d'), from)).rejects.toBe(gone);
    await worker.stop();
  });
});

test('a short text with aliases, which stand for many nodes, is not parsed on the event loop', async () => {
  const worker = new YamlWorker({ clock: systemClock });
  const [aliases, anchor] = [worker.read(Buffer.from('a: &a [1]\nb: *a\n')), worker.read(Buffer.from('a: &a [1]\n'))];
  const ended = Promise.allSettled([aliases, anchor]);
  await worker.stop();
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

describe('lanes', () => {
  const slowText = Buffer.from(Array.from({ length: 200_000 }, (_, i) => `- - ${i}\n`).join(''));
  const of = (cluster: string) => ({ cluster, request: {} });

  test('a flood of one logical cluster gets 429, another one does not', async () => {
    const worker = new YamlWorker({ clock: new FakeClock() });
    const flood = Promise.allSettled(Array.from({ length: 12 }, () => worker.read(slowText, of('flood'))));
    const other = worker.read(long('a: b'), of('other')).then(
      () => 'read',
      (error: unknown) => error,
    );
    await worker.stop();
    const codes = (await flood).map((result) => (result as { reason: { code: number } }).reason.code);
    expect([codes.filter((code) => code === 429).length, codes.filter((code) => code === 503).length]).toEqual([3, 9]);
    expect(await other).toMatchObject({ code: 503 });
  });

  test('another logical cluster does not wait for a thread that starts while one is free', async () => {
    const clock = new FakeClock();
    const worker = new YamlWorker({ clock });
    const ends: string[] = [];
    const read = async (cluster: string): Promise<unknown> => {
      await worker.read(long('a: b'), of(cluster));
      return ends.push(cluster);
    };
    await read('flood');
    const sent = [...Array.from({ length: 8 }, () => read('flood')), read('other')];
    await clock.advance(100);
    await Promise.all(sent);
    expect(ends.indexOf('other')).toBeLessThan(4);
    await worker.stop();
  });

  test('another logical cluster waits for a thread of its own, then for the end of the longest job', async () => {
    const clock = new FakeClock();
    const worker = new YamlWorker({ clock });
    const slow = ['a', 'b', 'c'].map(async (cluster) => worker.read(slowText, of(cluster)));
    const ended = Promise.allSettled(slow);
    // One thread runs the first, and a further one starts per 100 ms.
    await clock.advance(100);
    await clock.advance(100);
    const modest = worker.read(long('a: b'), of('modest'));
    await clock.advance(1_000);
    expect(parsed(await modest).value).toEqual({ a: 'b' });
    await worker.stop();
    const results = await ended;
    expect(results[0]).toMatchObject({ status: 'rejected', reason: { code: 429 } });
  });
});
