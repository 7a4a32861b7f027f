import { expect, test } from '@jest/globals';
import { goTimeError } from './go-time-error.ts';

const layout = '"2006-01-02T15:04:05Z07:00"';

test.each([
  ['yesterday', `as ${layout}: cannot parse "yesterday" as "2006"`],
  ['', `as ${layout}: cannot parse "" as "2006"`],
  ['2026-01-02', `as ${layout}: cannot parse "" as "T"`],
  ['2026-01-02 03:04:05', `as ${layout}: cannot parse " 03:04:05" as "T"`],
  ['2026-1-02T03:04:05Z', `as ${layout}: cannot parse "1-02T03:04:05Z" as "01"`],
  ['2026-01-02T03:04:05', `as ${layout}: cannot parse "" as "Z07:00"`],
  ['2026-01-02T03:04:05.25', `as ${layout}: cannot parse "" as "Z07:00"`],
  ['2026-13-02T03:04:05Z', ': month out of range'],
  ['2026-02-30T03:04:05Z', ': day out of range'],
  ['2026-01-02T24:04:05Z', ': hour out of range'],
  ['2026-01-02T03:04:05Z and more', ': extra text: " and more"'],
  ['2026-01-02T03:04:05Zé"', String.raw`: extra text: "\xc3\xa9\""`],
])('%j is no time: %s', (text, why) => {
  expect(goTimeError(text)).toMatch(/^parsing time "/);
  expect(goTimeError(text).endsWith(`"${why.startsWith(':') ? '' : ' '}${why}`)).toBe(true);
});

test('microseconds are wanted where six digits belong', () => {
  expect(goTimeError('2026-01-02T03:04:05Z', true)).toBe(
    'parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
  );
});
