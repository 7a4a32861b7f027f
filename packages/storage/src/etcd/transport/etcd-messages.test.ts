import { expect, test } from '@jest/globals';
import { WireWriter } from '@multiplane/apimachinery';
import { decodeWatch, rangeMethod, txnMethod } from './etcd-messages.ts';

const key = Buffer.from('k');
const hex = (bytes: Buffer): string => bytes.toString('hex');

test('a range request has its fields under the numbers of etcdserverpb', () => {
  expect(hex(rangeMethod.encode({ key, range_end: Buffer.from('l'), limit: 500, revision: 7, keys_only: true }))).toBe(
    '0a016b12016c18f40320074001',
  );
  expect(hex(rangeMethod.encode({ key, count_only: true }))).toBe('0a016b4801');
});

test('a comparison with revision 0 is written: an absent member of the union compares nothing', () => {
  const encoded = txnMethod.encode({ compare: { key, target: 'Mod', mod_revision: 0 }, success: [] });
  expect(hex(encoded)).toBe('0a0710021a016b3000');
});

test('unknown fields of a response are skipped, also nested ones', () => {
  const writer = new WireWriter();
  // Last to first: count, a key-value with an unknown varint, the header with an unknown message.
  writer.uint(3);
  writer.tag(4, 0);
  let before = writer.length;
  writer.uint(9);
  writer.tag(12, 0);
  writer.uint(2 ** 40);
  writer.tag(3, 0);
  const keyAt = writer.length;
  writer.text('name');
  writer.delimit(1, keyAt);
  writer.delimit(2, before);
  before = writer.length;
  const inner = writer.length;
  writer.text('?');
  writer.delimit(15, inner);
  writer.uint(41);
  writer.tag(3, 0);
  writer.delimit(1, before);
  const response = rangeMethod.decode(writer.finish());
  expect(response).toMatchObject({ header: { revision: 41 }, count: 3, more: false });
  expect(response.kvs.map(({ key: name, mod_revision }) => [name.toString(), mod_revision])).toEqual([
    ['name', 2 ** 40],
  ]);
});

test('a message that ends early is an error', () => {
  expect(() => rangeMethod.decode(Buffer.from('0a05', 'hex'))).toThrow('unexpected EOF');
  expect(() => decodeWatch(Buffer.from('5a0212ff', 'hex'))).toThrow('unexpected EOF');
});
