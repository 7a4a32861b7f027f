import { describe, expect, test } from '@jest/globals';
import type { JsonObject, StatusError } from '@multiplane/apimachinery';
import { initializing, terminating, type Lifecycle } from './lifecycle.ts';
import { statusRule } from './status-rules.ts';

const object = (status: JsonObject): JsonObject => ({ metadata: { name: 'cluster' }, status });
const waiting = { phase: 'Initializing', initializers: ['a:one', 'a:two'], terminators: ['a:end'] };

/** What an update of the status is told; undefined: it is let through. */
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
  test('takes itself off the list, and tells of its progress', () => {
    expect(refusal({ initializers: ['a:two'] })).toBeUndefined();
    expect(refusal({ conditions: [{ type: 'Halfway', status: 'True' }] })).toBeUndefined();
  });

  test.each([
    ['another one', ['a:one']],
    ['all', []],
    ['itself for somebody', ['a:two', 'a:other']],
    ['one for another', ['a:one', 'a:other']],
    ['nobody, in another order', ['a:two', 'a:one']],
  ])('cannot take off %s', (_what, initializers) => {
    expect(refusal({ initializers })).toBe(
      `LogicalCluster.tenancy.kcp.io "cluster" is invalid: status.initializers: Invalid value: ${JSON.stringify(initializers)}: only removing the "a:one" initializer is supported`,
    );
  });

  test('cannot say that the workspace is ready, where it is, nor who ends it', () => {
    expect(refusal({ URL: 'https://elsewhere' })).toContain('status.URL: Invalid value: "https://elsewhere"');
    expect(refusal({ 'of-its-own': true })).toContain('status.of-its-own: Invalid value: true');
    expect(refusal({ phase: 'Ready' })).toContain(
      'status.phase: Invalid value: "Ready": only the system may change it',
    );
    expect(refusal({ terminators: [] })).toContain('status.terminators: Invalid value: []');
  });
});

test('a terminator takes itself off its own list, and nothing else', () => {
  expect(refusal({ terminators: [] }, terminating, 'a:end')).toBeUndefined();
  expect(refusal({ terminators: ['a:end', 'a:more'] }, terminating, 'a:end')).toBe(
    'LogicalCluster.core.kcp.io "cluster" is invalid: status.terminators: Invalid value: ["a:end","a:more"]: only removing the "a:end" terminator is supported',
  );
  expect(refusal({ initializers: [] }, terminating, 'a:end')).toContain('status.initializers: Invalid value: []');
});
