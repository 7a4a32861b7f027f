import { describe, expect, test } from '@jest/globals';
import type { JsonObject, StatusError } from '@multiplane/apimachinery';
import { initializing, terminating, type Lifecycle } from './lifecycle.ts';
import { statusRule } from './status-rules.ts';

const object = (status: JsonObject): JsonObject => ({ metadata: { name: 'cluster' }, status });
const waiting = { phase: 'Initializing', initializers: ['a:one', 'a:two'], terminators: ['a:end'] };

/** The error of a status update; undefined: it is accepted. */
function refusal(change: JsonObject, lifecycle: Lifecycle = initializing, id = 'a:one'): string | undefined {
  try {
    const updated = object({ ...waiting, ...change });
    statusRule(lifecycle, id)({ old: object(waiting), updated, subresource: 'status' });
    return undefined;
  } catch (error) {
    return (error as StatusError).message;
  }
}

describe('an initializer', () => {
  test('removes itself from the list and sets conditions', () => {
    expect(refusal({ initializers: ['a:two'] })).toBeUndefined();
    expect(refusal({ conditions: [{ type: 'Halfway', status: 'True' }] })).toBeUndefined();
  });

  test.each([
    ['another one', ['a:one']],
    ['all', []],
    ['itself in favour of another', ['a:two', 'a:other']],
    ['one for another', ['a:one', 'a:other']],
    ['none, in another order', ['a:two', 'a:one']],
  ])('cannot remove %s', (_what, initializers) => {
    expect(refusal({ initializers })).toBe(
      `LogicalCluster.tenancy.kcp.io "cluster" is invalid: status.initializers: Invalid value: ${JSON.stringify(initializers)}: only removing the "a:one" initializer is supported`,
    );
  });

  test('cannot set the phase, the URL or the terminators', () => {
    expect(refusal({ URL: 'https://other' })).toContain('status.URL: Invalid value: "https://other"');
    expect(refusal({ 'of-its-own': true })).toContain('status.of-its-own: Invalid value: true');
    expect(refusal({ phase: 'Ready' })).toContain(
      'status.phase: Invalid value: "Ready": only the system may change it',
    );
    expect(refusal({ terminators: [] })).toContain('status.terminators: Invalid value: []');
  });
});

test('a terminator removes itself from its own list only', () => {
  expect(refusal({ terminators: [] }, terminating, 'a:end')).toBeUndefined();
  expect(refusal({ terminators: ['a:end', 'a:more'] }, terminating, 'a:end')).toBe(
    'LogicalCluster.core.kcp.io "cluster" is invalid: status.terminators: Invalid value: ["a:end","a:more"]: only removing the "a:end" terminator is supported',
  );
  expect(refusal({ initializers: [] }, terminating, 'a:end')).toContain('status.initializers: Invalid value: []');
});
