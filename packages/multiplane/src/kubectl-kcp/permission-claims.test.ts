import { describe, expect, test } from '@jest/globals';
import { answered, claimRows, decide, tableText, type Binding, type Claim } from './permission-claims.ts';

const configMaps: Claim = { group: '', resource: 'configmaps', verbs: ['get', 'list'] };
const sheriffs: Claim = {
  group: 'wild.west',
  resource: 'sheriffs',
  verbs: ['*'],
  identityHash: 'abc',
  defaultSelector: { matchLabels: { claim: 'me' } },
};

const binding = (own: readonly Claim[] | undefined, exported: readonly Claim[]): Binding => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'mine' },
  spec: own === undefined ? {} : { permissionClaims: own },
  status: { exportPermissionClaims: exported },
});

describe('an answer to a claim', () => {
  test('keeps the identity of what is claimed, the verbs and the selector that the export proposes', () => {
    expect(answered(sheriffs, 'Accepted')).toEqual({
      group: 'wild.west',
      resource: 'sheriffs',
      verbs: ['*'],
      identityHash: 'abc',
      selector: { matchLabels: { claim: 'me' } },
      state: 'Accepted',
    });
  });

  test('is for all objects where the export proposes nothing', () => {
    expect(answered(configMaps, 'Rejected')).toEqual({
      resource: 'configmaps',
      verbs: ['get', 'list'],
      selector: { matchAll: true },
      state: 'Rejected',
    });
  });
});

describe('accepting and rejecting', () => {
  test('adds claims that the binding lacks', () => {
    expect(decide(binding(undefined, [configMaps, sheriffs]), { resource: 'configmaps.core' }, 'Accepted')).toEqual([
      answered(configMaps, 'Accepted'),
    ]);
  });

  test('without a filter answers all of them, and keeps what was said about them before', () => {
    const own = { ...answered(configMaps, 'Accepted'), selector: { matchLabels: { a: 'b' } } };
    expect(decide(binding([own], [configMaps, sheriffs]), {}, 'Rejected')).toEqual([
      { ...own, state: 'Rejected' },
      answered(sheriffs, 'Rejected'),
    ]);
  });

  test('tells claims on the same resource of two providers apart', () => {
    const others = { ...sheriffs, identityHash: 'def' };
    expect(decide(binding([], [sheriffs, others]), { identityHash: 'def' }, 'Accepted')).toEqual([
      answered(others, 'Accepted'),
    ]);
    expect(
      decide(binding([], [sheriffs, others]), { resource: 'sheriffs.wild.west', identityHash: 'nobody' }, 'Accepted'),
    ).toBeUndefined();
  });

  test('knows when nobody claims it', () => {
    expect(decide(binding([], [configMaps]), { resource: 'secrets.core' }, 'Accepted')).toBeUndefined();
    expect(decide(binding([], []), {}, 'Accepted')).toEqual([]);
  });
});

test('the table has a row for each claim that is answered', () => {
  const rows = claimRows([
    binding([answered(configMaps, 'Accepted'), answered(sheriffs, 'Rejected')], []),
    binding(undefined, [configMaps]),
  ]);
  expect(tableText([['APIBINDING', 'GROUP-RESOURCE', 'VERBS', 'STATUS'], ...rows])).toBe(
    [
      'APIBINDING   GROUP-RESOURCE       VERBS      STATUS',
      'mine         configmaps           get,list   Accepted',
      'mine         sheriffs.wild.west   *          Rejected',
    ].join('\n'),
  );
});
