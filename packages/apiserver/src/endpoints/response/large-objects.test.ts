import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WireReader, encodeYaml, readProtobufEnvelope, type JsonObject } from '@multiplane/apimachinery';
import { decodeProtobufMessage, decodeProtobufObject } from '@multiplane/apis';
import { Pipeline } from '../../../test/pipeline.ts';

/* Objects so large that they are converted in time slices look as small ones do. */

const maps = '/api/v1/namespaces/default/configmaps';
const protobuf = 'application/vnd.kubernetes.protobuf';
const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, `<é"${index}>`]));
const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`l${index}`, 'x']));

let on: Pipeline;
let json: JsonObject;
beforeAll(async () => {
  on = await Pipeline.open();
  await on.must(201, 'POST', maps, { metadata: { name: 'large', labels }, data });
  json = await on.must(200, 'GET', `${maps}/large`);
});
afterAll(() => on.close());

test('JSON', () => {
  expect(json).toMatchObject({ metadata: { labels }, data });
});

test('indented JSON', async () => {
  const { text, headers } = await on.ask('GET', `${maps}/large?pretty=true`);
  const indented = JSON.stringify(json, undefined, 2).replaceAll('<', '\\u003c').replaceAll('>', '\\u003e');
  expect(text).toBe(indented);
  expect(headers['content-type']).toBe('application/json');
});

test('YAML', async () => {
  const { text } = await on.ask('GET', `${maps}/large`, undefined, { accept: 'application/yaml' });
  expect(text).toContain('\n  m9999: <é"9999>\n');
});

test('YAML in a list', async () => {
  const query = `${maps}?fieldSelector=metadata.name%3Dlarge`;
  const list = await on.must(200, 'GET', query);
  const { text } = await on.ask('GET', query, undefined, { accept: 'application/yaml' });
  expect(text).toBe(encodeYaml(list));
});

test.each(['Table', 'PartialObjectMetadata'])('the metadata as %s', async (kind) => {
  const accept = `application/json;as=${kind};v=v1;g=meta.k8s.io`;
  const found = await on.must(200, 'GET', `${maps}/large`, undefined, { accept });
  const rows = found['rows'] as unknown as readonly { readonly object: JsonObject }[] | undefined;
  expect((rows?.[0]?.object ?? found)['metadata']).toEqual(json['metadata']);
});

test('protobuf, alone and in a list', async () => {
  const bytesOf = async (path: string): Promise<Buffer> => {
    const { exchange, done } = on.start('GET', path, undefined, { accept: protobuf });
    await done;
    return Buffer.concat(exchange.chunks);
  };
  const wanted = { metadata: json['metadata'] as JsonObject, data };
  expect(decodeProtobufObject(await bytesOf(`${maps}/large`))).toMatchObject(wanted);

  const list = await bytesOf(maps);
  const { message } = readProtobufEnvelope(list);
  expect([message.tag(), message.field]).toEqual([2, 1]);
  message.position = message.end();
  expect([message.tag(), message.field]).toEqual([2, 2]);
  const end = message.end();
  const item = new WireReader(list, message.position, end);
  expect(decodeProtobufMessage('v1', 'ConfigMap', item)).toMatchObject(wanted);
});
