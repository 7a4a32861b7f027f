import { describe, expect, test } from '@jest/globals';
import { checkLarge, encodedResponse, encodeLarge } from './encoded-object.ts';

const options = { accepts: (): boolean => true, omitsManagedFields: true, lane: undefined };
const objectOf = async (text: string, more: Partial<typeof options> = {}): Promise<unknown> => {
  const encoded = await encodedResponse(Buffer.from(text), { ...options, ...more });
  return encoded === undefined ? undefined : JSON.parse(encoded.text);
};

describe('encodedResponse', () => {
  test.each([
    ['first', '{"kind":"A","metadata":{"managedFields":[{"a":"}"}],"name":"x"},"data":{}}', { name: 'x' }],
    [
      'in the middle',
      '{"kind":"A","metadata":{"name":"x","managedFields":[],"uid":"u"},"data":{}}',
      { name: 'x', uid: 'u' },
    ],
    ['last', '{"kind":"A","metadata":{"name":"x","managedFields":[1]},"data":{}}', { name: 'x' }],
    ['alone', '{"kind":"A","metadata":{"managedFields":[1]},"data":{}}', {}],
    ['absent', '{"kind":"A","metadata":{"name":"managedFields"},"data":{}}', { name: 'managedFields' }],
  ])('omits managedFields: %s', async (_where, text, metadata) => {
    expect(await objectOf(text)).toEqual({ kind: 'A', metadata, data: {} });
    expect(await objectOf(text, { omitsManagedFields: false })).toEqual(JSON.parse(text));
  });

  test('accepts kinds, in compact and in indented text', async () => {
    const object = { kind: 'Table', metadata: { managedFields: [1], name: 'x' }, rows: [] };
    const accepts = ((kind: string) => kind !== 'Table') as () => boolean;
    for (const indent of [0, 2]) {
      const text = JSON.stringify(object, undefined, indent);
      expect(await objectOf(text, { accepts })).toBeUndefined();
      expect(await objectOf(`${text}\n`)).toEqual({ ...object, metadata: { name: 'x' } });
    }
  });

  test('ignores text that is not JSON', async () => {
    expect(await objectOf('{"kind":"A","metadata":{"name')).toBeUndefined();
    expect(await objectOf('{broken')).toBeUndefined();
  });
});

test('records large objects and patches in one line', async () => {
  expect(JSON.parse((await encodeLarge({ a: ['\n', 2n ** 60n] }, undefined)).text)).toEqual({ a: ['\n', 2 ** 60] });
  const patch = await checkLarge(Buffer.from('[\n  {"op": "add"}\r\n]'), undefined);
  expect(patch?.text).not.toContain('\n');
  expect(JSON.parse(patch?.text ?? '')).toEqual([{ op: 'add' }]);
  expect(await checkLarge(Buffer.from('[{'), undefined)).toBeUndefined();
});
