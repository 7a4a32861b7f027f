import { describe, expect, test } from '@jest/globals';
import {
  maskTrailingDash,
  validateConfigMapKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validatePathSegmentName,
  validateQualifiedName,
} from './names.ts';

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('names of objects', () => {
  test.each(['a', '1', 'a.b-c.d', 'x'.repeat(253)])('%.20s is a subdomain', (name) => {
    expect(validateDns1123Subdomain(name)).toEqual([]);
  });
  test.each(['', 'A', 'a_b', 'a b', '-a', 'a-', '.a', 'a.', 'a..b', 'a/b', 'ä', 'a\n'])(
    '%j is no subdomain',
    (name) => {
      expect(validateDns1123Subdomain(name)).toEqual([subdomain]);
    },
  );
  test('length and form are reported together', () => {
    expect(validateDns1123Subdomain('x'.repeat(254))).toEqual(['must be no more than 253 characters']);
    expect(validateDns1123Label('X'.repeat(64))).toEqual(['must be no more than 63 characters', label]);
    expect(validateDns1123Label('a.b')).toEqual(['must not contain dots']);
    expect(validateDns1123Label('ok-1')).toEqual([]);
    expect(validateDns1035Label('1a')).toHaveLength(1);
    expect(validateDns1035Label('v1alpha1')).toEqual([]);
  });
  test('path segments', () => {
    expect(validatePathSegmentName('system:foo ä')).toEqual([]);
    expect(validatePathSegmentName('.')).toEqual(["may not be '.'"]);
    expect(validatePathSegmentName('..')).toEqual(["may not be '..'"]);
    expect(validatePathSegmentName('a/%b')).toEqual(["may not contain '/'", "may not contain '%'"]);
  });
  test('a base of generated names may end with a dash', () => {
    expect(maskTrailingDash('gen-')).toBe('gea');
    expect(maskTrailingDash('-')).toBe('-');
    expect(validateDns1123Subdomain(maskTrailingDash('Bad_'))).toEqual([subdomain]);
  });
  test('keys of data', () => {
    expect(validateConfigMapKey('a.b_C-1')).toEqual([]);
    expect(validateConfigMapKey('a/b')).toHaveLength(1);
    expect(validateConfigMapKey('..')).toEqual(["must not be '..'"]);
    expect(validateConfigMapKey('..a')).toEqual(["must not start with '..'"]);
  });
});

describe('keys and values of labels', () => {
  test.each(['a', 'A_b.c-D', 'example.com/K_1.b', 'k'.repeat(63)])('%.20s is a key', (key) => {
    expect(validateQualifiedName(key)).toEqual([]);
  });
  test.each([
    ['a b', [`name part ${qualified}`]],
    ['', ['name part must be non-empty', `name part ${qualified}`]],
    ['a/', ['name part must be non-empty', `name part ${qualified}`]],
    ['/b', ['prefix part must be non-empty']],
    ['A.b/c', [`prefix part ${subdomain}`]],
    [
      'a/b/c',
      [`a valid label key ${qualified} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    ],
    ['k'.repeat(64), ['name part must be no more than 63 bytes']],
    [`${'p'.repeat(254)}/k`, ['prefix part must be no more than 253 bytes']],
  ])('%.20s is not', (key, messages) => {
    expect(validateQualifiedName(key)).toEqual(messages);
  });
  test('values', () => {
    expect(validateLabelValue('')).toEqual([]);
    expect(validateLabelValue('v'.repeat(63))).toEqual([]);
    expect(validateLabelValue('v'.repeat(64))).toEqual(['must be no more than 63 bytes']);
    expect(validateLabelValue('a_')).toEqual([value]);
    expect(validateLabelValue('ä')).toEqual([value]);
  });
  test('are checked in linear time', () => {
    const begin = process.cpuUsage();
    for (const hostile of [
      '-'.repeat(1_000_000),
      `${'a-'.repeat(500_000)}_`,
      `${'a.'.repeat(500_000)}_`,
      '.'.repeat(1_000_000),
    ]) {
      for (const check of [
        validateDns1123Label,
        validateDns1123Subdomain,
        validateDns1035Label,
        validateQualifiedName,
        validateLabelValue,
      ])
        check(hostile);
    }
    expect(process.cpuUsage(begin).user).toBeLessThan(20_000_000);
  });
});
