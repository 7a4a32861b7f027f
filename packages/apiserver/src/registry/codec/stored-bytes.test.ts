import { describe, expect, test } from '@jest/globals';
import { type KubeObject, maxJsonValues } from '@multiplane/apimachinery';
import { RequestWork } from '@multiplane/component-base';
import { encodeForStorage } from './object-codec.ts';
import { storedBytes } from './stored-bytes.ts';

const object = (metadata: Partial<KubeObject['metadata']>, rest: Record<string, unknown> = {}): KubeObject => ({
  metadata: { name: 'n', uid: 'u-1', creationTimestamp: '2026-01-02T03:04:05Z', ...metadata },
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  ...rest,
});
const stored = (value: KubeObject, maxBytes?: number, isApply = false): Promise<Buffer> =>
  storedBytes(value, maxBytes, isApply, new RequestWork());

describe('an object that is too large only because of its managedFields', () => {
  const managedFields = [
    { manager: 'm', fieldsV1: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f:${i}`, {}])) },
  ];
  const data = { a: 'x', b: 1 };
  const bare = encodeForStorage(object({ labels: { b: '2' } }, { data }));
  const whole = (): KubeObject => object({ labels: { b: '2' }, managedFields }, { data });

  test('is stored with them where there is room', async () => {
    expect(await stored(whole())).toEqual(encodeForStorage(whole()));
  });

  test('is stored without them', async () => {
    const value = whole();
    expect(await stored(value, bare.length)).toEqual(bare);
    expect(value.metadata.managedFields).toBeUndefined();
  });

  test('is refused to an apply, and where it is too large without them', async () => {
    await expect(stored(whole(), bare.length, true)).rejects.toThrow('request is too large');
    await expect(stored(whole(), bare.length - 1)).rejects.toThrow('request is too large');
  });

  test('has at most as many values as a body', async () => {
    const many = { list: Array.from({ length: maxJsonValues - 20 }, () => 0) };
    const tooLarge = expect.objectContaining({
      code: 413,
      message: expect.stringContaining('more than 210000 values'),
    });
    expect(await stored(object({ managedFields }, many))).toEqual(encodeForStorage(object({}, many)));
    await expect(stored(object({ managedFields }, many), undefined, true)).rejects.toThrow(tooLarge);
    await expect(stored(object({}, { list: [...many.list, ...many.list] }))).rejects.toThrow(tooLarge);
  });
});
