import { describe, expect, test } from '@jest/globals';
import type { PermissionClaim, ScopedPermissionClaim } from '@multiplane/apis';
import { claimsCondition } from './permission-claim-conditions.ts';

const exported = (resource: string, more: Partial<PermissionClaim> = {}): PermissionClaim => ({
  resource,
  verbs: ['*'],
  ...more,
});
const accepted = (resource: string, more: Partial<ScopedPermissionClaim> = {}): ScopedPermissionClaim => ({
  group: '',
  identityHash: '',
  resource,
  verbs: ['*'],
  selector: { matchAll: true },
  ...more,
});
const conditionText = (accept: ScopedPermissionClaim[], claims: PermissionClaim[]): string => {
  const { status, severity = '', reason = '', message = '' } = claimsCondition({ accepted: accept, exported: claims });
  return [status, severity, reason, message].filter((text) => text !== '').join(' | ');
};

describe('accepted claims', () => {
  test('may be fewer than the export claims', () => {
    expect(conditionText([], [exported('configmaps')])).toBe('True');
    expect(conditionText([accepted('configmaps')], [exported('configmaps'), exported('secrets')])).toBe('True');
  });

  test('must not include claims that the export does not make', () => {
    expect(
      conditionText([accepted('secrets'), accepted('parts', { group: 'example.dev', identityHash: 'abc' })], []),
    ).toBe(
      'False | Error | InvalidPermissionClaims | 2 unexpected and/or invalid permission claims (showing first 2): [unexpected/invalid claim for parts.example.dev (identity "abc"), unexpected/invalid claim for secrets. (identity "")]',
    );
    const many = Array.from({ length: 12 }, (_, index) => accepted(`r${index}`));
    expect(conditionText(many, [])).toMatch(
      /\| 12 unexpected and\/or invalid permission claims \(showing first 10\): \[/,
    );
  });

  test('are compared by selector and by verbs in any order, with * for all', () => {
    const verbs = (mine: string[], theirs: string[]): string =>
      conditionText([accepted('configmaps', { verbs: mine })], [exported('configmaps', { verbs: theirs })]);
    expect(verbs(['*'], ['get'])).toBe('True');
    expect(verbs(['get'], ['*'])).toBe('True');
    expect(verbs(['get', 'list'], ['list', 'get'])).toBe('True');
    const mismatch =
      'False | Warning | PermissionClaimsMismatch | 1 permission claim(s) have mismatched verbs or selectors (showing first 1): ';
    expect(verbs(['get'], ['get', 'list'])).toBe(`${mismatch}configmaps. (verbs: accepted [get], exported [get list])`);
    const defaultSelector = { matchLabels: { a: 'b' } };
    expect(
      conditionText(
        [accepted('configmaps', { verbs: ['get'] })],
        [exported('configmaps', { verbs: ['list'], defaultSelector })],
      ),
    ).toBe(`${mismatch}configmaps. (verbs: accepted [get], exported [list]; selector differs from defaultSelector)`);
    expect(
      conditionText(
        [accepted('configmaps', { selector: defaultSelector })],
        [exported('configmaps', { defaultSelector })],
      ),
    ).toBe('True');
  });

  test('are reported for five claims at most, mismatches before unexpected claims', () => {
    const names = Array.from({ length: 7 }, (_, index) => `r${index}`);
    const text = conditionText(
      [...names.map((name) => accepted(name, { verbs: ['get'] })), accepted('secrets')],
      names.map((name) => exported(name, { verbs: ['list'] })),
    );
    expect(text).toMatch(/PermissionClaimsMismatch \| 7 permission claim\(s\) .* \(showing first 5\): r0\. \(/);
    expect(text.match(/verbs: /g)).toHaveLength(5);
  });
});
