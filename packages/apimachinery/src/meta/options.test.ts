import { describe, expect, test } from '@jest/globals';
import {
  decodeDeleteOptions,
  decodeDeleteQuery,
  decodeListOptions,
  decodeWriteOptions,
  parseQueryBoolean,
  type DeleteOptions,
  type ListOptions,
  type WriteOptions,
} from './options.ts';
import type { StatusError } from '../errors/status-error.ts';
import type { Json } from '../json/json.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);
const list = (text: string, isWatch = false): ListOptions => decodeListOptions(query(text), isWatch);
const write = (text: string, kind: 'CreateOptions' | 'PatchOptions' = 'CreateOptions', apply = false): WriteOptions =>
  decodeWriteOptions(query(text), kind, apply);

function failure(action: () => unknown): { code: number; message: string } {
  try {
    action();
  } catch (error) {
    const { code, message } = error as StatusError;
    return { code, message };
  }
  throw new Error('nothing was thrown');
}
const invalidList = (why: string): { code: number; message: string } => ({
  code: 422,
  message: `ListOptions.meta.k8s.io "" is invalid: ${why}`,
});

test.each([
  [null, false],
  ['', true],
  ['0', false],
  ['1', true],
  ['False', false],
  ['no', true],
])('the query boolean %j is %j', (text, value) => {
  expect(parseQueryBoolean(text)).toBe(value);
});

describe('options of a list', () => {
  test('have defaults', () => {
    expect(list('unknown=x&watch=0&limit=-3')).toMatchObject({
      watch: false,
      allowWatchBookmarks: false,
      resourceVersion: '',
      resourceVersionMatch: '',
      timeoutSeconds: undefined,
      limit: 0,
      continue: '',
      sendInitialEvents: undefined,
    });
    expect(list('limit=5&limit=6&timeoutSeconds=10&labelSelector=a%3Db&fieldSelector=c%3Dd')).toMatchObject({
      limit: 5,
      timeoutSeconds: 10,
    });
    expect(list('labelSelector=a%3Db').labelSelector.toString()).toBe('a=b');
    expect(list('fieldSelector=c%3Dd').fieldSelector.exactValue('c')).toBe('d');
  });

  test.each([
    ['limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['limit=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['timeoutSeconds=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      'limit=999999999999000000000000000000',
      'strconv.ParseInt: parsing "999999999999000000000000000000": value out of range',
    ],
    ['labelSelector=,', "found ',', expected: !, identifier, or 'end of string'"],
    ['fieldSelector=x', "invalid selector: 'x'; can't understand 'x'"],
  ])('%s cannot be read', (text, message) => {
    expect(failure(() => list(text))).toEqual({ code: 400, message });
  });

  test.each([
    ['sendInitialEvents=x', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    [
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      '[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]',
    ],
    [
      'resourceVersionMatch=Newest',
      '[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""]',
    ],
    [
      'resourceVersion=5&resourceVersionMatch=Exact&continue=x',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
  ])('%s contradicts itself', (text, why) => {
    expect(failure(() => list(text))).toEqual(invalidList(why));
  });
});

describe('options of a watch', () => {
  test('ask for the current state when they begin at no version', () => {
    expect(list('watch=1')).toMatchObject({
      watch: true,
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
    });
    expect(list('resourceVersion=0', true)).toMatchObject({ watch: true, sendInitialEvents: true });
    expect(list('watch=1&resourceVersion=5')).toMatchObject({ sendInitialEvents: undefined, resourceVersionMatch: '' });
    expect(list('watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan')).toMatchObject({
      sendInitialEvents: false,
    });
  });

  test.each([
    [
      'sendInitialEvents=true',
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ],
    [
      'resourceVersionMatch=NotOlderThan',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    ],
    [
      'sendInitialEvents=1&resourceVersionMatch=NotOlderThan&continue=x',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    [
      'sendInitialEvents=1&resourceVersionMatch=Exact',
      '[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
    ],
  ])('%s contradicts itself', (text, why) => {
    expect(failure(() => list(`watch=1&${text}`))).toEqual(invalidList(why));
  });
});

describe('options of a write', () => {
  test('have defaults', () => {
    expect(write('')).toEqual({ dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: false });
    expect(write('dryRun=All&dryRun=All&fieldValidation=Strict&fieldManager=me&pretty=maybe')).toEqual({
      dryRun: true,
      fieldManager: 'me',
      fieldValidation: 'Strict',
      force: false,
    });
    expect(write('fieldManager=me&force', 'PatchOptions', true)).toMatchObject({ force: true });
  });

  test.each([
    ['dryRun=Some', 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
    ['dryRun=', 'dryRun: Unsupported value: [""]: supported values: "All"'],
    ['dryRun=All&dryRun=x', 'dryRun: Unsupported value: ["All","x"]: supported values: "All"'],
    [
      'fieldValidation=Loud',
      'fieldValidation: Unsupported value: "Loud": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    ['fieldManager=abc%0A', String.raw`fieldManager: Invalid value: "abc\n": invalid character U+000A (at position 3)`],
    [`fieldManager=${'m'.repeat(129)}`, 'fieldManager: Too long: may not be more than 128 bytes'],
  ])('%.40s is refused', (text, why) => {
    expect(failure(() => write(text))).toEqual({
      code: 422,
      message: `CreateOptions.meta.k8s.io "" is invalid: ${why}`,
    });
  });

  test('force belongs to apply, which needs a manager', () => {
    const message = 'PatchOptions.meta.k8s.io "" is invalid: ';
    expect(failure(() => write('force=false', 'PatchOptions')).message).toBe(
      `${message}force: Forbidden: may not be specified for non-apply patch`,
    );
    expect(failure(() => write('', 'PatchOptions', true)).message).toBe(
      `${message}fieldManager: Required value: is required for apply patch`,
    );
  });
});

describe('options of a delete', () => {
  const body = (options: Json): DeleteOptions => decodeDeleteOptions(options);

  test('come from the body or the query', () => {
    const options = {
      kind: 'DeleteOptions',
      apiVersion: 'v9',
      gracePeriodSeconds: -1,
      propagationPolicy: 'Orphan',
      dryRun: ['All'],
      preconditions: { uid: 'u' },
    };
    expect(body(options)).toEqual({
      dryRun: true,
      gracePeriodSeconds: -1,
      propagationPolicy: 'Orphan',
      orphanDependents: undefined,
      preconditions: { uid: 'u', resourceVersion: undefined },
    });
    expect(body(null)).toMatchObject({ dryRun: false, preconditions: undefined });
    expect(body({ orphanDependents: null, preconditions: null })).toMatchObject({
      orphanDependents: undefined,
      preconditions: undefined,
    });
    expect(decodeDeleteQuery(query('gracePeriodSeconds=5&orphanDependents=false&dryRun=All'))).toMatchObject({
      dryRun: true,
      gracePeriodSeconds: 5,
      orphanDependents: false,
    });
    expect(decodeDeleteQuery(query('propagationPolicy=Foreground'))).toMatchObject({ propagationPolicy: 'Foreground' });
  });

  test.each([
    [
      { propagationPolicy: 'Nope' },
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
    [
      { dryRun: ['Some'] },
      422,
      'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ],
    [
      { gracePeriodSeconds: 'x' },
      400,
      'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      { preconditions: { uid: 5 } },
      400,
      'json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID',
    ],
    [[], 400, 'json: cannot unmarshal array into Go struct field DeleteOptions'],
    [
      { apiVersion: 'v1', kind: 'ConfigMap' },
      400,
      'no kind "ConfigMap" is registered for version "v1" in scheme "multiplane"',
    ],
  ] as [Json, number, string][])('%j is refused', (options, code, message) => {
    expect(failure(() => body(options))).toEqual({ code, message });
  });

  test('a bad number in the query is reported verbatim', () => {
    expect(failure(() => decodeDeleteQuery(query('gracePeriodSeconds=x')))).toEqual({
      code: 400,
      message: 'strconv.ParseInt: parsing "x": invalid syntax',
    });
  });
});
