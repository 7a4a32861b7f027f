import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { type JsonObject, WireReader, readProtobufEnvelope } from '@multiplane/apimachinery';
import { decodeProtobufMessage, decodeProtobufObject } from '@multiplane/apis';
import { Pipeline, type TestExchange } from '../../../test/pipeline.ts';
import { definitionOf } from '../../../test/definitions.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
const maps = '/api/v1/namespaces/default/configmaps';
const gadgets = '/apis/example.com/v1/namespaces/default/gadgets';

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(() => pipeline.close());

interface BinaryAnswer {
  readonly status: number;
  readonly type: unknown;
  readonly bytes: Buffer;
}
async function ask(method: string, path: string, body?: unknown, accept = protobuf): Promise<BinaryAnswer> {
  const { exchange, done } = pipeline.start(method, path, body, { accept });
  await done;
  return { status: exchange.status, type: exchange.answer['content-type'], bytes: Buffer.concat(exchange.chunks) };
}

/** kind, metadata and items of a list. */
function readList(bytes: Buffer, itemVersion: string, itemKind: string): [string, JsonObject, JsonObject[]] {
  const { apiVersion, kind, message } = readProtobufEnvelope(bytes);
  let metadata: JsonObject = {};
  const items: JsonObject[] = [];
  while (message.position < message.limit) {
    expect(message.tag()).toBe(2);
    const end = message.end();
    const part = new WireReader(bytes, message.position, end);
    if (message.field === 1) metadata = decodeProtobufMessage('meta.k8s.io/v1', 'ListMeta', part);
    else items.push(decodeProtobufMessage(itemVersion, itemKind, part));
    message.position = end;
  }
  return [`${apiVersion}/${kind}`, metadata, items];
}

/** Frames of a watch: type and object of each. */
function readFrames(exchange: TestExchange): [string, JsonObject][] {
  const bytes = Buffer.concat(exchange.chunks);
  const frames: [string, JsonObject][] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    const reader = new WireReader(bytes, at + 4, end);
    expect(reader.tag()).toBe(2);
    const type = reader.text(reader.end());
    expect([reader.tag(), reader.field]).toEqual([2, 2]);
    reader.end();
    expect([reader.tag(), reader.field]).toEqual([2, 1]);
    const raw = reader.end();
    frames.push([type, decodeProtobufObject(bytes.subarray(reader.position, raw))]);
    expect(raw).toBe(end);
    at = end;
  }
  return frames;
}

const names = (objects: readonly JsonObject[]): unknown[] =>
  objects.map(({ metadata }) => (metadata as JsonObject)['name']);

describe('single objects', () => {
  test('equal those in JSON, for all verbs', async () => {
    const created = await ask('POST', maps, { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } });
    expect([created.status, created.type]).toEqual([201, protobuf]);
    const shown = await pipeline.must(200, 'GET', `${maps}/a`);
    expect(decodeProtobufObject(created.bytes)).toEqual(shown);
    expect(decodeProtobufObject((await ask('GET', `${maps}/a`)).bytes)).toEqual(shown);
    const replaced = await ask('PUT', `${maps}/a`, { metadata: { name: 'a' }, data: { k: 'w' } });
    expect([replaced.status, decodeProtobufObject(replaced.bytes)['data']]).toEqual([200, { k: 'w' }]);
    const removed = await ask('DELETE', `${maps}/a`);
    expect(decodeProtobufObject(removed.bytes)).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  test('errors', async () => {
    const { status, type, bytes } = await ask('GET', `${maps}/nobody`);
    expect([status, type]).toEqual([404, protobuf]);
    expect(decodeProtobufObject(bytes)).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      details: { name: 'nobody', kind: 'configmaps' },
    });
  });

  test('PartialObjectMetadata', async () => {
    await pipeline.must(201, 'POST', maps, { metadata: { name: 'a' }, data: { k: 'v' } });
    const object = decodeProtobufObject((await ask('GET', `${maps}/a`, undefined, partial)).bytes);
    expect([object['kind'], object['apiVersion'], object['data']]).toEqual([
      'PartialObjectMetadata',
      'meta.k8s.io/v1',
      undefined,
    ]);
    expect(object['metadata']).toEqual((await pipeline.must(200, 'GET', `${maps}/a`))['metadata']);
  });

  test('tables are not available', async () => {
    const { status, bytes } = await ask('GET', maps, undefined, `${protobuf};as=Table;g=meta.k8s.io;v=v1`);
    expect([status, JSON.parse(bytes.toString())]).toMatchObject([406, { reason: 'NotAcceptable' }]);
  });
});

describe('lists', () => {
  test('with list metadata, in pages', async () => {
    for (const name of ['a', 'b', 'c']) await pipeline.must(201, 'POST', maps, { metadata: { name } });
    const { type, bytes } = await ask('GET', `${maps}?limit=2`);
    expect(type).toBe(protobuf);
    const [kind, metadata, items] = readList(bytes, 'v1', 'ConfigMap');
    expect([kind, names(items)]).toEqual(['v1/ConfigMapList', ['a', 'b']]);
    expect(metadata).toMatchObject({ resourceVersion: String(pipeline.cache.revision), remainingItemCount: 1 });
    const rest = await ask('GET', `${maps}?limit=2&continue=${metadata['continue'] as string}`);
    expect(names(readList(rest.bytes, 'v1', 'ConfigMap')[2])).toEqual(['c']);
  });

  test('that are requested repeatedly have the current objects, whatever was cached', async () => {
    const name = (i: number): string => `n-${String(i).padStart(3, '0')}`;
    for (let i = 0; i < 200; i++)
      await pipeline.must(201, 'POST', maps, { metadata: { name: name(i) }, data: { k: 'v'.repeat(700) } });
    const check = async (): Promise<void> => {
      const items = (await pipeline.must(200, 'GET', maps))['items'] as JsonObject[];
      for (const path of [maps, `${maps}?limit=150`]) {
        const [, , encoded] = readList((await ask('GET', path)).bytes, 'v1', 'ConfigMap');
        const expected = path === maps ? items : items.slice(0, 150);
        expect(encoded.map(({ metadata, data }) => ({ metadata, data }))).toEqual(
          expected.map(({ metadata, data }) => ({ metadata, data })),
        );
      }
    };
    for (let round = 0; round < 3; round++) await check();
    await pipeline.must(200, 'PUT', `${maps}/${name(70)}`, { metadata: { name: name(70) }, data: { k: 'changed' } });
    await pipeline.must(200, 'DELETE', `${maps}/${name(130)}`);
    for (let round = 0; round < 3; round++) await check();
  });

  test('larger than the kept encoded items', async () => {
    const data = { k: 'v'.repeat(900_000) };
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await pipeline.must(201, 'POST', maps, { metadata: { name }, data });
    const [, , items] = readList((await ask('GET', maps)).bytes, 'v1', 'ConfigMap');
    expect(names(items)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(items.at(-1)?.['data']).toEqual(data);
  });

  test('empty', async () => {
    expect(readList((await ask('GET', maps)).bytes, 'v1', 'ConfigMap')[2]).toEqual([]);
  });

  test('of PartialObjectMetadata', async () => {
    await pipeline.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const { bytes } = await ask('GET', maps, undefined, partial.replace('Metadata;', 'MetadataList;'));
    const [kind, , items] = readList(bytes, 'meta.k8s.io/v1', 'PartialObjectMetadata');
    expect([kind, names(items)]).toEqual(['meta.k8s.io/v1/PartialObjectMetadataList', ['a']]);
  });
});

describe('watches', () => {
  test('events are encoded once for all watches', async () => {
    await pipeline.must(201, 'POST', maps, { metadata: { name: 'a' } });
    const path = `${maps}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
    const watches = [1, 2].map(() => pipeline.start('GET', path, undefined, { accept: `${protobuf};stream=watch` }));
    await eventLoopIdle();
    await pipeline.must(200, 'PUT', `${maps}/a`, { metadata: { name: 'a' }, data: { k: 'v' } });
    await pipeline.must(200, 'DELETE', `${maps}/a`);
    await eventLoopIdle();
    for (const { exchange } of watches) {
      expect(exchange.answer['content-type']).toBe(`${protobuf};stream=watch`);
      const frames = readFrames(exchange);
      expect(frames.map(([type, { kind }]) => `${type} ${kind as string}`)).toEqual([
        'ADDED ConfigMap',
        'BOOKMARK ConfigMap',
        'MODIFIED ConfigMap',
        'DELETED ConfigMap',
      ]);
      expect(frames[1]?.[1]['metadata']).toMatchObject({ annotations: { 'k8s.io/initial-events-end': 'true' } });
      expect(frames[3]?.[1]['metadata']).toMatchObject({ resourceVersion: String(pipeline.cache.revision) });
    }
    const [first, second] = watches.map(({ exchange }) => exchange.chunks.at(-1));
    expect(first?.equals(second as Buffer)).toBe(true);
  });

  test('end with an ERROR event in protobuf', async () => {
    const { revision } = pipeline.cache;
    for (const name of ['a', 'b']) await pipeline.must(201, 'POST', maps, { metadata: { name } });
    await pipeline.cache.compact(pipeline.cache.revision);
    const path = `${maps}?watch=1&resourceVersion=${revision}`;
    const { exchange, done } = pipeline.start('GET', path, undefined, { accept: protobuf });
    await done;
    expect(readFrames(exchange)).toMatchObject([['ERROR', { kind: 'Status', code: 410 }]]);
  });

  test('of PartialObjectMetadata, also of custom resources', async () => {
    await pipeline.serve(definitionOf('example.com', 'v1', 'gadgets', 'Gadget'));
    const { exchange } = pipeline.start('GET', `${gadgets}?watch=1`, undefined, { accept: partial });
    await eventLoopIdle();
    await pipeline.must(201, 'POST', gadgets, {
      apiVersion: 'example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
    });
    await eventLoopIdle();
    expect(readFrames(exchange)).toMatchObject([['ADDED', { kind: 'PartialObjectMetadata', metadata: { name: 'g' } }]]);
  });
});

describe('custom resources', () => {
  beforeEach(() => pipeline.serve(definitionOf('example.com', 'v1', 'gadgets', 'Gadget')));

  test('are not available in protobuf, their errors are', async () => {
    for (const path of [`${gadgets}/g`, gadgets, `${gadgets}?watch=1`])
      expect((await ask('GET', path)).status).toBe(406);
    const { status, bytes } = await ask('GET', `${gadgets}/g`, undefined, `${protobuf},application/json`);
    expect([status, JSON.parse(bytes.toString())]).toMatchObject([404, { reason: 'NotFound' }]);
  });

  test('their metadata is available', async () => {
    await pipeline.must(201, 'POST', gadgets, {
      apiVersion: 'example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
    });
    expect(decodeProtobufObject((await ask('GET', `${gadgets}/g`, undefined, partial)).bytes)).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name: 'g' },
    });
  });
});

test('the scale of a custom resource', async () => {
  await pipeline.serve({
    ...definitionOf('example.com', 'v1', 'gadgets', 'Gadget'),
    spec: {
      ...(definitionOf('example.com', 'v1', 'gadgets', 'Gadget')['spec'] as JsonObject),
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
        },
      ],
    },
  });
  await pipeline.must(201, 'POST', gadgets, {
    apiVersion: 'example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'g' },
    spec: { replicas: 3 },
  });
  const { status, type, bytes } = await ask('GET', `${gadgets}/g/scale`);
  expect([status, type]).toEqual([200, protobuf]);
  expect(decodeProtobufObject(bytes)).toMatchObject({ kind: 'Scale', spec: { replicas: 3 }, status: { replicas: 0 } });
});
