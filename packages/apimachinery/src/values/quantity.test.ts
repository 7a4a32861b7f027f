import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Quantity } from './quantity.ts';

const canonicalQuantity = (text: string | number | bigint): string => Quantity.parse(text).toString();

const q = (text: string): Quantity => Quantity.parse(text);

describe('quantities', () => {
  test.each([
    ['100m', '100m'],
    ['0.1', '100m'],
    ['1Ki', '1Ki'],
    ['1k', '1k'],
    ['1000', '1k'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['12e0', '12'],
    ['1e1', '10'],
    ['1e-3', '1e-3'],
    ['1e-10', '1e-9'],
    ['1.5', '1500m'],
    ['2M', '2M'],
    ['1E', '1E'],
    ['0', '0'],
    ['-0', '0'],
    ['0Ki', '0'],
    ['5Gi', '5Gi'],
    ['1024Mi', '1Gi'],
    ['0.5Ki', '512'],
    ['0.5Gi', '512Mi'],
    ['1.1Ki', '1126400m'],
    ['1025', '1025'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1500n', '1500n'],
    ['1000u', '1m'],
    ['+5', '5'],
    ['-1.5Gi', '-1536Mi'],
    ['.5', '500m'],
    ['5.', '5'],
    ['00100', '100'],
    ['1234567890', '1234567890'],
    ['9223372036854775808', '9223372036854775807'],
    ['1000E', '9223372036854775807'],
    ['-10Ei', '-9223372036854775807'],
  ])('%s is written %s', (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  test.each(['', 'x', '1x', '1.2.3', '.', '1 ', '1kk', '1e', '1Kib', '--1', '1e1.5', 'Ki', '1mm'])(
    '%j is none',
    (text) => {
      expect(() => q(text)).toThrow(expect.objectContaining({ name: 'QuantityError' }));
    },
  );

  test('may be numbers in JSON', () => {
    expect(canonicalQuantity(5)).toBe('5');
    expect(canonicalQuantity(0.25)).toBe('250m');
    expect(canonicalQuantity(2n ** 62n)).toBe('4611686018427387904');
    expect(JSON.stringify({ q: q('1024Mi') })).toBe('{"q":"1Gi"}');
  });

  test('calculate exactly', () => {
    expect(q('100m').add(q('1')).toString()).toBe('1100m');
    expect(Quantity.zero.add(q('1Gi')).toString()).toBe('1Gi');
    expect(q('1Gi').subtract(q('512Mi')).toString()).toBe('512Mi');
    expect(q('1').subtract(q('3')).sign).toBe(-1);
    expect(q('1Ki').compare(q('1024'))).toBe(0);
    expect(q('1k').compare(q('1Ki'))).toBe(-1);
    expect(q('2').compare(q('1'))).toBe(1);
    expect(q('1n').roundUp(-3).toString()).toBe('1m');
    expect(q('-1n').roundUp(-3).toString()).toBe('-1m');
    expect(q('1.1').roundUp(0).toString()).toBe('2');
    expect(q('5').roundUp(0).toString()).toBe('5');
    expect([q('1').isInteger, q('0.5').isInteger, q('0').sign]).toEqual([true, false, 0]);
    expect(q('1.5').toNumber()).toBe(1.5);
    expect(Quantity.fromInteger(2048, 'BinarySI').toString()).toBe('2Ki');
  });

  test('are fixed once they are canonical, and worth the same', () => {
    const text = fc
      .tuple(
        fc.constantFrom('', '-', '+'),
        fc.oneof(
          fc.nat().map(String),
          fc.tuple(fc.nat(99999), fc.nat(99999)).map(([a, b]) => `${a}.${b}`),
        ),
        fc.constantFrom(
          '',
          'n',
          'u',
          'm',
          'k',
          'M',
          'G',
          'T',
          'P',
          'E',
          'Ki',
          'Mi',
          'Gi',
          'Ti',
          'Pi',
          'Ei',
          'e3',
          'E-6',
          'e12',
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (input) => {
        const quantity = q(input);
        const canonical = quantity.toString();
        expect(canonicalQuantity(canonical)).toBe(canonical);
        expect(q(canonical).compare(quantity)).toBe(0);
      }),
    );
  });

  test('of absurd size cost nothing', () => {
    const begin = process.cpuUsage();
    expect(canonicalQuantity('1e999999999')).toBe('9223372036854775807e0'.replace('e0', ''));
    expect(canonicalQuantity('1e-999999999')).toBe('1e-9');
    expect(canonicalQuantity('0e999999999999999999999')).toBe('0');
    expect(canonicalQuantity('9'.repeat(1_000_000))).toBe('9223372036854775807');
    expect(canonicalQuantity(`0.${'0'.repeat(1_000_000)}1`)).toBe('1n');
    expect(canonicalQuantity(`1.${'0'.repeat(1_000_000)}1`)).toBe('1000000001n');
    expect(process.cpuUsage(begin).user).toBeLessThan(20_000_000);
  });
});
