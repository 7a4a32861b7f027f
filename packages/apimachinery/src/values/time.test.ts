import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  ageSince,
  canonicalMicroTime,
  canonicalTime,
  formatMicros,
  formatMicroTime,
  formatTime,
  formatUnixSeconds,
  humanDuration,
  parseMicroTime,
  parseTime,
} from './time.ts';

const day = 24 * 60 * 60;

describe('times', () => {
  test('of seconds since 1970 are those of a Date', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), (seconds) => {
        expect(formatUnixSeconds(seconds)).toBe(formatTime(new Date(seconds * 1000)));
      }),
    );
    const leapDays = ['2000-02-29', '2024-02-29', '1900-02-28', '1900-03-01', '1969-12-31', '0001-01-01', '9999-12-31'];
    for (const day of leapDays) {
      const text = `${day}T23:59:59Z`;
      expect(formatUnixSeconds(Date.parse(text) / 1000)).toBe(text);
    }
  });

  test('are written in UTC', () => {
    const time = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    expect(formatTime(time)).toBe('2026-01-02T03:04:05Z');
    expect(formatMicroTime(time)).toBe('2026-01-02T03:04:05.678000Z');
    expect(formatMicros(-1)).toBe('1969-12-31T23:59:59.999999Z');
  });

  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.999Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05+02:30', '2026-01-02T00:34:05Z'],
    ['2024-02-29T00:00:00-01:00', '2024-02-29T01:00:00Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00Z'],
  ])('%s is %s', (text, canonical) => {
    expect(canonicalTime(text)).toBe(canonical);
  });

  test.each([
    '',
    'x',
    '2026-01-02',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:04:05',
    '2026-01-02t03:04:05z',
    '2026-01-02T03:04:05+25:00',
  ])('%j is no time', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  test('micro times have six digits', () => {
    expect(canonicalMicroTime('2026-01-02T03:04:05.123456Z')).toBe('2026-01-02T03:04:05.123456Z');
    expect(canonicalMicroTime('2026-01-02T03:04:05.123456+01:00')).toBe('2026-01-02T02:04:05.123456Z');
    expect(parseMicroTime('2026-01-02T03:04:05Z')).toBeUndefined();
    expect(parseMicroTime('2026-01-02T03:04:05.1Z')).toBeUndefined();
    fc.assert(
      fc.property(fc.integer({ min: -6e16 / 10, max: 4e15 }), (micros) => {
        if (micros < -62135596800000000) return;
        expect(parseMicroTime(formatMicros(micros))).toBe(micros);
      }),
    );
  });
});

test.each([
  [-5, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [125, '2m5s'],
  [600, '10m'],
  [10799, '179m'],
  [3 * 3600, '3h'],
  [3 * 3600 + 60, '3h1m'],
  [8 * 3600, '8h'],
  [47 * 3600, '47h'],
  [2 * day, '2d'],
  [2 * day + 3600, '2d1h'],
  [8 * day, '8d'],
  [729 * day, '729d'],
  [730 * day, '2y'],
  [744 * day, '2y14d'],
  [8 * 365 * day + day, '8y'],
])('%i seconds are shown as %s', (seconds, text) => {
  expect(humanDuration(seconds * 1000)).toBe(text);
});

test('the age of an object', () => {
  const now = new Date('2026-01-02T00:00:30Z');
  expect(ageSince('2026-01-02T00:00:00Z', now)).toBe('30s');
  expect(ageSince(undefined, now)).toBe('<unknown>');
});
