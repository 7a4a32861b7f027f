import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../json/json.ts';
import { capUpdateManagers, decodeManagedFields, encodeManagedFields, isManagedFieldsReset } from './managed-fields.ts';

const entry = (manager: string, more: JsonObject = {}): JsonObject => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-02T03:04:05Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { [`f:${manager}`]: {} },
  ...more,
});

test('entries come back in their order: appliers, then by time, name, version and part', () => {
  const entries = [
    entry('b', { operation: 'Apply' }),
    entry('a', { operation: 'Apply', time: '2026-01-02T03:04:06Z' }),
    entry('z', { time: '2026-01-02T03:04:04Z' }),
    entry('a'),
    entry('a', { apiVersion: 'v2' }),
    entry('a', { apiVersion: 'v2', subresource: 'status' }),
  ];
  expect(encodeManagedFields(decodeManagedFields(entries.toReversed()))).toEqual(entries);
  expect(Object.keys(encodeManagedFields(decodeManagedFields(entries.slice(0, 1)), true)[0] ?? {})).toEqual([
    'apiVersion',
    'fieldsType',
    'fieldsV1',
    'manager',
    'operation',
    'time',
  ]);
});

test('an applier has one entry for all versions', () => {
  const { managers } = decodeManagedFields([
    entry('a', { operation: 'Apply' }),
    entry('a', { operation: 'Apply', apiVersion: 'v2' }),
  ]);
  expect([...managers.values()].map(({ apiVersion }) => apiVersion)).toEqual(['v2']);
});

test.each([
  [{ operation: 'Bad' }, 'operation must be `Update` or `Apply`'],
  [{ apiVersion: '' }, 'apiVersion must not be empty'],
  [{ fieldsType: '' }, 'missing fieldsType in managed fields entry 0'],
  [{ fieldsType: 'FieldsV2' }, 'invalid fieldsType "FieldsV2" in managed fields entry 0'],
  [{ fieldsV1: { x: {} } }, 'key must be 2 characters long:'],
])('%j is no entry', (more, message) => {
  expect(() => decodeManagedFields([entry('a', more)])).toThrow(message);
});

test.each([
  [undefined, false],
  [[], true],
  [[{}], true],
  [[{ manager: '' }], true],
  [[entry('a')], false],
  [[{}, {}], false],
])('%j resets: %j', (entries, expected) => {
  expect(isManagedFieldsReset(entries)).toBe(expected);
});

describe('more than ten updaters', () => {
  const times = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, n) =>
      entry(`m${n}`, { time: `2026-01-02T03:04:${String(n).padStart(2, '0')}Z` }),
    );

  test('are merged, the oldest first', () => {
    const { managers, times: at } = capUpdateManagers(decodeManagedFields(times(13)));
    const names = encodeManagedFields({ managers, times: at }).map(({ manager }) => manager);
    expect(names).toEqual(['ancient-changes', ...[4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `m${n}`)]);
    const [first] = encodeManagedFields({ managers, times: at });
    expect(first).toMatchObject({
      time: '2026-01-02T03:04:03Z',
      fieldsV1: { 'f:m0': {}, 'f:m1': {}, 'f:m2': {}, 'f:m3': {} },
    });
  });

  test('of different versions stay apart', () => {
    const mixed = times(12).map((one, n) => (n === 0 ? { ...one, apiVersion: 'v0' } : one));
    const { managers } = capUpdateManagers(decodeManagedFields(mixed));
    expect(managers.size).toBe(10);
    expect([...managers.values()].filter(({ apiVersion }) => apiVersion === 'v0')).toHaveLength(1);
  });

  test('appliers do not count', () => {
    const managed = decodeManagedFields(times(30).map((one) => ({ ...one, operation: 'Apply' })));
    expect(capUpdateManagers(managed)).toBe(managed);
  });
});
