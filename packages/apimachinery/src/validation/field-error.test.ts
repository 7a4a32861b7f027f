import { describe, expect, test } from '@jest/globals';
import { fieldErrorBody, fieldErrors, fieldErrorText, FieldPath, quote } from './field-error.ts';
import { isStatusError, StatusError, statusErrors } from '../errors/status-error.ts';

const path = FieldPath.of('spec', 'ports').index(0).child('name').key('x');

describe('field errors', () => {
  test('name their place', () => {
    expect(String(path)).toBe('spec.ports[0].name[x]');
    expect(String(FieldPath.root())).toBe('<nil>');
    expect(String(FieldPath.root().child('a', 'b'))).toBe('a.b');
  });

  test.each([
    [fieldErrors.required('a'), 'a: Required value'],
    [fieldErrors.required('a', 'why'), 'a: Required value: why'],
    [fieldErrors.notFound('a', 'x'), 'a: Not found: "x"'],
    [fieldErrors.duplicate('a', 'x'), 'a: Duplicate value: "x"'],
    [fieldErrors.invalid('a', 5, 'must be less'), 'a: Invalid value: 5: must be less'],
    [fieldErrors.invalid('a', null, 'must not be null'), 'a: Invalid value: null: must not be null'],
    [fieldErrors.invalid('a', { b: [2n ** 60n] }, 'why'), 'a: Invalid value: {"b":[1152921504606846976]}: why'],
    [fieldErrors.typeInvalid('a', true, 'why'), 'a: Invalid value: true: why'],
    [fieldErrors.notSupported('a', 'x', ['b', 'c']), 'a: Unsupported value: "x": supported values: "b", "c"'],
    [fieldErrors.notSupported('a', 'x', []), 'a: Unsupported value: "x"'],
    [fieldErrors.forbidden('a', 'why'), 'a: Forbidden: why'],
    [fieldErrors.tooLong('a', 5), 'a: Too long: may not be more than 5 bytes'],
    [fieldErrors.tooLong('a', 1), 'a: Too long: may not be more than 1 byte'],
    [fieldErrors.tooMany('a', 7, 5), 'a: Too many: 7: must have at most 5 items'],
    [fieldErrors.internal('a', new Error('broken')), 'a: Internal error: broken'],
  ])('%# print as Kubernetes prints them', (error, text) => {
    expect(fieldErrorText(error)).toBe(text);
    expect(`${error.field}: ${fieldErrorBody(error)}`).toBe(text);
  });

  test('quote as Go does', () => {
    expect(quote('a"b\\ä\n')).toBe(String.raw`"a\"b\\ä\n"`);
    expect(quote('\u0000\u0007\v\u007f\u200b\u{e0001}"\\\t')).toBe(String.raw`"\x00\a\v\x7f\u200b\U000e0001\"\\\t"`);
  });
});

describe('a refusal of an object', () => {
  test('lists every error as a cause and each text once', () => {
    const error = fieldErrors.invalid('metadata.uid', 'u', 'field is immutable');
    expect(statusErrors.invalid({ group: 'g.io', kind: 'Foo' }, 'n', [error, error]).toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Foo.g.io "n" is invalid: metadata.uid: Invalid value: "u": field is immutable',
      reason: 'Invalid',
      details: {
        name: 'n',
        group: 'g.io',
        kind: 'Foo',
        causes: [
          { reason: 'FieldValueInvalid', message: 'Invalid value: "u": field is immutable', field: 'metadata.uid' },
          { reason: 'FieldValueInvalid', message: 'Invalid value: "u": field is immutable', field: 'metadata.uid' },
        ],
      },
      code: 422,
    });
    expect(statusErrors.invalid({ group: '', kind: 'Foo' }, '', [error, fieldErrors.required('a')]).message).toBe(
      'Foo "" is invalid: [metadata.uid: Invalid value: "u": field is immutable, a: Required value]',
    );
  });
});

describe('status errors', () => {
  const gr = { group: 'g.io', resource: 'foos' };

  test.each([
    [statusErrors.notFound(gr, 'n'), 404, 'NotFound', 'foos.g.io "n" not found'],
    [
      statusErrors.alreadyExists({ group: '', resource: 'configmaps' }, 'n'),
      409,
      'AlreadyExists',
      'configmaps "n" already exists',
    ],
    [statusErrors.conflict(gr, 'n', 'why'), 409, 'Conflict', 'Operation cannot be fulfilled on foos.g.io "n": why'],
    [statusErrors.forbidden(gr, 'n', 'why'), 403, 'Forbidden', 'foos.g.io "n" is forbidden: why'],
    [statusErrors.forbidden(gr, '', 'why'), 403, 'Forbidden', 'foos.g.io is forbidden: why'],
    [statusErrors.forbidden({ group: '', resource: '' }, '', 'why'), 403, 'Forbidden', 'forbidden: why'],
    [
      statusErrors.methodNotAllowed('patch', gr),
      405,
      'MethodNotAllowed',
      'patch is not supported on resources of kind "foos.g.io"',
    ],
    [
      statusErrors.notAcceptable(['a/b', 'c/d']),
      406,
      'NotAcceptable',
      'only the following media types are accepted: a/b, c/d',
    ],
    [
      statusErrors.tooLarge('limit is 3145728'),
      413,
      'RequestEntityTooLarge',
      'Request entity too large: limit is 3145728',
    ],
    [statusErrors.tooLargeResourceVersion(9, 5), 504, 'Timeout', 'Timeout: Too large resource version: 9, current: 5'],
    [statusErrors.internal(new Error('x')), 500, 'InternalError', 'Internal error occurred: x'],
    [statusErrors.untyped('x'), 500, '', 'x'],
  ])('%#', (error, code, reason, message) => {
    expect({ code: error.code, reason: error.reason, message: error.message }).toEqual({ code, reason, message });
    expect(isStatusError(error, error.reason)).toBe(true);
  });

  test('are distinguished from other errors, and carry a continue token', () => {
    expect(isStatusError(new Error('x'))).toBe(false);
    expect(isStatusError(statusErrors.untyped('x'), 'NotFound')).toBe(false);
    expect(statusErrors.expired('old', 'token').toStatus().metadata).toEqual({ continue: 'token' });
    expect('reason' in new StatusError({ code: 500, reason: '', message: 'x' }).toStatus()).toBe(false);
  });
});
