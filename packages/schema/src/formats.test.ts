import { describe, expect, test } from '@jest/globals';
import { formatOf } from './formats.ts';

const cases: Record<string, { good: string[]; bad: string[] }> = {
  'date-time': {
    good: ['2026-01-02T03:04:05Z', '2026-01-02t03:04:05.123456z', '2024-02-29T00:00:00+01:30'],
    bad: ['2026-01-01', '2026-01-02T24:00:00Z', '2023-02-29T00:00:00Z', '2026-01-02T03:04:05', ''],
  },
  date: { good: ['2024-02-29', '2026-12-31'], bad: ['2026-13-01', '2023-02-29', '2026-1-1', '20260101'] },
  duration: { good: ['1h30m', '-1.5s', '0', '2 weeks', '22 ns', '1h', '.5s', '1h30'], bad: ['', 'x', '5', '1 parsec'] },
  email: { good: ['a@b', 'a.b@example.com', 'Ann <a@b.c>', '"a b"@c.d'], bad: ['', 'a', '@b', 'a@', 'a b@c', 'a@b c'] },
  hostname: {
    good: ['a', 'a-b.example.com', '1a.de', 'ä.example.org'],
    bad: ['', 'a_b', '-a', 'a..b', `${'a'.repeat(64)}.com`],
  },
  ipv4: { good: ['1.2.3.4'], bad: ['1.2.3', '01.2.3.4', '::1', '1.2.3.256'] },
  ipv6: { good: ['::1', '2001:db8::1'], bad: ['1.2.3.4', 'fe80::1%eth0', ':::'] },
  cidr: {
    good: ['10.0.0.0/8', '::/0', '2001:db8::/32'],
    bad: ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/08', '::/129', 'x/1'],
  },
  mac: {
    good: ['01:23:45:67:89:ab', '01-23-45-67-89-ab', '0123.4567.89ab'],
    bad: ['01', '01:23:45:67:89', '01:23-45:67:89:ab'],
  },
  uri: {
    good: ['http://a.b/c?d#e', '/x', 'mailto:a@b', 'https://[::1]:80/', 'urn:x:y'],
    bad: ['x y', '', 'a/b', 'http://a b', 'http://a/%zz'],
  },
  uuid: { good: ['01234567-89ab-cdef-0123-456789ABCDEF', '0123456789abcdef0123456789abcdef'], bad: ['0123', 'x'] },
  uuid3: { good: ['01234567-89ab-3def-0123-456789abcdef'], bad: ['01234567-89ab-4def-0123-456789abcdef'] },
  uuid4: { good: ['01234567-89ab-4def-8123-456789abcdef'], bad: ['01234567-89ab-4def-0123-456789abcdef'] },
  uuid5: { good: ['01234567-89ab-5def-b123-456789abcdef'], bad: ['01234567-89ab-5def-c123-456789abcdef'] },
  isbn: { good: ['0321751043', '978-0321751041'], bad: ['0321751044', '978-0321751042', 'x'] },
  isbn10: { good: ['080442957X'], bad: ['978-0321751041'] },
  isbn13: { good: ['978-0321751041'], bad: ['0321751043'] },
  creditcard: { good: ['4111 1111 1111 1111', '378282246310005'], bad: ['4111 1111 1111 1112', '1234'] },
  ssn: { good: ['111-11-1111', '111 11 1111'], bad: ['00-00', '111-11-11111'] },
  hexcolor: { good: ['#FFF', 'a0b1c2'], bad: ['#FF', '#GGG'] },
  rgbcolor: { good: ['rgb(1,2,3)', 'rgb( 255, 0, 10 )'], bad: ['rgb(256,0,0)', 'rgb(1,2)'] },
  byte: { good: ['YQ==', 'YWI=', 'YWJj'], bad: ['!', 'YQ', 'YQ=', ''] },
  password: { good: ['', 'x'], bad: [] },
  bsonobjectid: { good: ['0123456789abcdefABCDEF01'], bad: ['0123', 'x'.repeat(24)] },
  quantity: { good: ['1', '10Gi', '-1.5e3', '.5', '100m'], bad: ['', '1GiB', 'x', '1 '] },
  'k8s-short-name': { good: ['a', 'a-b', '1'], bad: ['', 'A', '-a', 'a.b', 'a'.repeat(64)] },
  'k8s-long-name': { good: ['a.b', `${'a'.repeat(100)}.b`], bad: ['', 'a..b', 'A.b', 'a'.repeat(254)] },
};

describe.each(Object.entries(cases))('%s', (format, { good, bad }) => {
  const check = formatOf(format, 'string')?.check;
  test.each(good.length === 0 ? [''] : good)('accepts %j', (text) => expect(check?.(text)).toBe(true));
  if (bad.length > 0) test.each(bad)('refuses %j', (text) => expect(check?.(text)).toBe(false));
});

test('formats belong to a type; others are not known', () => {
  expect(formatOf('int32', 'integer')?.name).toBe('int32');
  expect(formatOf('int32', 'string')).toBeUndefined();
  expect(formatOf('date', 'integer')).toBeUndefined();
  expect(formatOf('double', 'number')?.name).toBe('double');
  expect(formatOf('nope', 'string')).toBeUndefined();
  expect(formatOf('ipv4', '')?.name).toBe('ipv4');
});

test('no text takes more than linear time', () => {
  const start = process.cpuUsage();
  for (const format of Object.keys(cases)) {
    const check = formatOf(format, 'string')?.check;
    for (const piece of ['1', 'a', ' ', '"', 'a.', '1 ', '::', '-a']) {
      // Ends in what fits nowhere, so that every way to match is tried.
      check?.(`${piece.repeat(100_000)}\u0001`);
    }
  }
  expect(process.cpuUsage(start).user).toBeLessThan(20_000_000);
});
