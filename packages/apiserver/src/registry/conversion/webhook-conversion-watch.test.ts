import { afterEach, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { eventually, eventLoopIdle } from '@multiplane/testing';
import { Pipeline, framesOf } from '../../../test/pipeline.ts';
import type { ConversionRequest } from '../../webhooks/conversion-review.ts';
import { ConversionHook, foo, fooDefinition, fooPath, specOf } from '../../../test/converted-foos.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline;
let hook: ConversionHook;

async function open(): Promise<void> {
  hook = new ConversionHook();
  pipeline = await Pipeline.open({ reviewer: hook });
  await pipeline.serve(fooDefinition());
}
afterEach(async () => {
  await pipeline.close();
});

describe('a watch of another version', () => {
  const watch = (query = ''): ReturnType<Pipeline['start']> => pipeline.start('GET', fooPath('v2', `?watch=1${query}`));
  const names = (started: ReturnType<Pipeline['start']>): unknown[] =>
    framesOf(started.exchange).map(({ type, object }) => [type, object.metadata?.name, specOf(object)]);

  test('sends converted events in order, each converted once for all watches', async () => {
    await open();
    const watches = [watch(), watch()];
    await eventLoopIdle();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await pipeline.must(200, 'PATCH', fooPath('v1', '/a'), { spec: { size: 2 } }, mergePatch);
    await pipeline.must(200, 'DELETE', fooPath('v1', '/a'));
    for (const started of watches)
      await eventually(() =>
        expect(names(started)).toEqual([
          ['ADDED', 'a', { metres: 1 }],
          ['MODIFIED', 'a', { metres: 2 }],
          ['DELETED', 'a', { metres: 2 }],
        ]),
      );
    expect(hook.asked.flatMap(({ names: asked }) => asked)).toHaveLength(2);
  });

  test('sends events of large objects, which are encoded in time slices, in order with the others', async () => {
    await open();
    const watches = [watch(), watch(), watch('&fieldSelector=spec.metres%3D1')];
    await eventLoopIdle();
    const annotations = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`note-${n}`, 'x'.repeat(50)]));
    const large = foo('v1', 'large', { size: 1 });
    await pipeline.must(201, 'POST', fooPath('v1'), { ...large, metadata: { name: 'large', annotations } });
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'small', { size: 1 }));
    await pipeline.must(200, 'PATCH', fooPath('v1', '/large'), { metadata: { labels: { a: 'b' } } }, mergePatch);
    await pipeline.must(200, 'DELETE', fooPath('v1', '/large'));
    for (const started of watches)
      await eventually(() =>
        expect(names(started)).toEqual([
          ['ADDED', 'large', { metres: 1 }],
          ['ADDED', 'small', { metres: 1 }],
          ['MODIFIED', 'large', { metres: 1 }],
          ['DELETED', 'large', { metres: 1 }],
        ]),
      );
  });

  test('sends a burst of large objects that were converted in one call', async () => {
    await open();
    const started = watch();
    await eventLoopIdle();
    let answer: () => void = () => undefined;
    hook.gate = new Promise((resolve) => (answer = resolve));
    const annotations = Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`note-${n}`, 'x'.repeat(40)]));
    const created = Array.from({ length: 30 }, (_, n) => `large-${n}`);
    for (const name of created) {
      const large = foo('v1', name, { size: 1 });
      await pipeline.must(201, 'POST', fooPath('v1'), { ...large, metadata: { name, annotations } });
    }
    answer();
    // Seven megabytes are written, converted and read; that may take minutes beside processes that use all cores.
    await eventually(() => expect(names(started)).toEqual(created.map((name) => ['ADDED', name, { metres: 1 }])), {
      timeout: 240_000,
    });
  }, 300_000);

  test('delays no other watch while the webhook is slow, and loses no event', async () => {
    await open();
    const converted = watch();
    const plain = pipeline.start('GET', fooPath('v1', '?watch=1'));
    await eventLoopIdle();
    let answer: () => void = () => undefined;
    hook.gate = new Promise((resolve) => (answer = resolve));
    for (const name of ['a', 'b', 'c']) await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', name, { size: 1 }));
    await eventLoopIdle();
    expect(framesOf(plain.exchange)).toHaveLength(3);
    expect(framesOf(converted.exchange)).toHaveLength(0);
    answer();
    await eventually(() => expect(framesOf(converted.exchange)).toHaveLength(3));
    // Events that arrived during the first call were sent in one call.
    expect(hook.asked.map(({ names: asked }) => asked)).toEqual([['a'], ['b', 'c']]);
  });

  test('converts a revision once for several events of a burst', async () => {
    await open();
    const started = watch();
    await eventLoopIdle();
    let answer: () => void = () => undefined;
    hook.gate = new Promise((resolve) => (answer = resolve));
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await eventually(() => expect(hook.asked).toHaveLength(1));
    await pipeline.must(200, 'PATCH', fooPath('v1', '/a'), { spec: { size: 2 } }, mergePatch);
    await pipeline.must(200, 'DELETE', fooPath('v1', '/a'));
    await eventLoopIdle();
    answer();
    await eventually(() =>
      expect(names(started)).toEqual([
        ['ADDED', 'a', { metres: 1 }],
        ['MODIFIED', 'a', { metres: 2 }],
        ['DELETED', 'a', { metres: 2 }],
      ]),
    );
    expect(hook.asked.map(({ names: asked }) => asked)).toEqual([['a'], ['a']]);
  });

  test('encodes an event by the current definition, even if it was encoded by a previous one', async () => {
    await open();
    const before = watch();
    await eventLoopIdle();
    const created = await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await eventually(() => expect(framesOf(before.exchange)).toHaveLength(1));
    const versions = (specOf(fooDefinition()) as { versions: { schema: { openAPIV3Schema: JsonObject } }[] }).versions;
    versions[1]!.schema.openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object' } } };
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com';
    const plain = versions.map((version) => ({ ...version, selectableFields: null }));
    await pipeline.must(200, 'PATCH', crd, { spec: { versions: plain } }, mergePatch);
    await before.done;
    const revision = Number((created['metadata'] as { resourceVersion: string }).resourceVersion) - 1;
    const after = watch(`&resourceVersion=${revision}`);
    await eventually(() => expect(names(after)).toEqual([['ADDED', 'a', {}]]));
  });

  test('selects by fields of the converted object', async () => {
    await open();
    const started = watch('&fieldSelector=spec.metres%3D1');
    await eventLoopIdle();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'b', { size: 2 }));
    await pipeline.must(200, 'PATCH', fooPath('v1', '/a'), { spec: { size: 2 } }, mergePatch);
    await eventually(() =>
      expect(framesOf(started.exchange).map(({ type, object }) => [type, object.metadata.name])).toEqual([
        ['ADDED', 'a'],
        ['DELETED', 'a'],
      ]),
    );
  });

  test('converts the initial list', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'b', { size: 2 }));
    hook.asked.length = 0;
    const started = watch('&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true');
    await eventually(() =>
      expect(framesOf(started.exchange).map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']),
    );
    expect(hook.asked.map(({ names: asked }) => asked)).toEqual([['a', 'b']]);
  });

  test('ends with an ERROR event if the webhook fails', async () => {
    await open();
    const started = watch();
    await eventLoopIdle();
    hook.failure = 'conversion webhook for example.com/v1, Kind=Foo failed: no';
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    await started.done;
    const [frame] = framesOf(started.exchange) as unknown as [{ type: string; object: JsonObject }];
    expect([frame.type, frame.object['message'], frame.object['code']]).toEqual(['ERROR', hook.failure, 500]);
  });

  test('cancels a call when no request waits for it', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    let ended = false;
    hook.gate = new Promise(() => undefined);
    const { convert } = hook;
    Object.assign(hook, {
      convert: (request: ConversionRequest) => {
        request.signal.addEventListener('abort', () => (ended = true));
        return convert(request);
      },
    });
    const started = pipeline.start('GET', fooPath('v2', '/a'));
    await eventually(() => expect(hook.asked).toHaveLength(1));
    started.exchange.leave();
    await started.done;
    expect(ended).toBe(true);
  });
});
