import { expect, test } from '@jest/globals';
import {
  base36Padded,
  base36Sha224Bytes,
  base62,
  base62Sha224,
  hexSha224,
  hexSha256,
  homeClusterName,
} from './hash-encoding.ts';

test('encodings agree with those of kcp', () => {
  expect(base62Sha224('root:tenancy.kcp.io')).toBe('bmCdly9xXiUpEHe3ypvDwvXMTfoVZUE92mqAQf');
  expect(base62Sha224('abcd1234:my-export')).toBe('phGj1BkmdNY3LKTrtFc1KGLYTBs8Nt50p8PIU');
  expect(base62Sha224('{"resource":"configmaps","verbs":null}')).toBe('3QVjs6pfBjMpLEVYYhysJnroYGsQGlWm05E4qe');
  expect(base62Sha224('{"group":"apps","resource":"deployments","verbs":null,"identityHash":"deadbeef"}')).toBe(
    '4CpOMiJ5JL9ZC4cG8ne7nGNQbSOEUiwZ89KHal',
  );
  expect(base62(Uint8Array.from({ length: 28 }, (_, index) => index % 10))).toBe('LstvmbbzVDDOn90ZbhzSQO5U3DMCf88h1pZ');
  expect(['alice', 'bob', '', 'user172'].map(homeClusterName)).toEqual([
    'v1u4alow0iv9',
    '2okdry95y5lkv',
    '36ks9xj4a2n61',
    '0f9mt7goyif7',
  ]);
  expect(base36Sha224Bytes(Buffer.from('root')).slice(0, 8)).toBe('1pfxsevk');
});

test('encodings of nothing and of zeros', () => {
  expect(base62(new Uint8Array(0))).toBe('0');
  expect(base36Padded(new Uint8Array([0, 0, 1]))).toBe('001');
  expect(base36Padded(new Uint8Array(0))).toBe('');
});

test('hexadecimal hashes', () => {
  expect(hexSha224('')).toBe('d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f');
  expect(hexSha256(Buffer.from('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('numbers of any length are written digit by digit, zeros within them too', () => {
  const slowly = (bytes: Uint8Array, base: bigint): string => {
    let number = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
    let text = '';
    for (; number > 0n; number /= base)
      text = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[Number(number % base)] + text;
    return text === '' ? '0' : text;
  };
  const inBase62 = (number: bigint): Uint8Array =>
    Buffer.from(number.toString(16).padStart(64, '0'), 'hex').subarray(0, 32);
  for (const number of [
    0n,
    61n,
    62n,
    62n ** 8n - 1n,
    62n ** 8n,
    62n ** 8n + 1n,
    62n ** 16n,
    62n ** 24n + 5n,
    2n ** 224n - 1n,
  ])
    expect(base62(inBase62(number))).toBe(slowly(inBase62(number), 62n));
  for (let length = 1; length < 40; length++) {
    const bytes = Uint8Array.from({ length }, (_, at) => 255 - ((at * 37) % 256));
    expect(base62(bytes)).toBe(slowly(bytes, 62n));
    expect(base36Padded(bytes)).toBe(slowly(bytes, 36n));
  }
});
