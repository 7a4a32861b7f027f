import { describe, expect, test } from '@jest/globals';
import {
  boundResourceRows,
  claimWithState,
  claimRows,
  updateClaims,
  tableText,
  type Binding,
  type Claim,
} from './permission-claims.ts';

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

describe('claimWithState', () => {
  test('copies identity hash, verbs and default selector of the export', () => {
    expect(claimWithState(sheriffs, 'Accepted')).toEqual({
      group: 'wild.west',
      resource: 'sheriffs',
      verbs: ['*'],
      identityHash: 'abc',
      selector: { matchLabels: { claim: 'me' } },
      state: 'Accepted',
    });
  });

  test('selects all objects when the export has no default selector', () => {
    expect(claimWithState(configMaps, 'Rejected')).toEqual({
      resource: 'configmaps',
      verbs: ['get', 'list'],
      selector: { matchAll: true },
      state: 'Rejected',
    });
  });
});

describe('updateClaims', () => {
  test('adds claims that the binding does not specify', () => {
    expect(
      updateClaims(binding(undefined, [configMaps, sheriffs]), { resource: 'configmaps.core' }, 'Accepted'),
    ).toEqual([claimWithState(configMaps, 'Accepted')]);
  });

  test('changes the state of all claims without a filter, and keeps their other fields', () => {
    const own = { ...claimWithState(configMaps, 'Accepted'), selector: { matchLabels: { a: 'b' } } };
    expect(updateClaims(binding([own], [configMaps, sheriffs]), {}, 'Rejected')).toEqual([
      { ...own, state: 'Rejected' },
      claimWithState(sheriffs, 'Rejected'),
    ]);
  });

  test('distinguishes claims on the same resource of two providers', () => {
    const others = { ...sheriffs, identityHash: 'def' };
    expect(updateClaims(binding([], [sheriffs, others]), { identityHash: 'def' }, 'Accepted')).toEqual([
      claimWithState(others, 'Accepted'),
    ]);
    expect(
      updateClaims(
        binding([], [sheriffs, others]),
        { resource: 'sheriffs.wild.west', identityHash: 'nobody' },
        'Accepted',
      ),
    ).toBeUndefined();
  });

  test('is undefined when no claim matches', () => {
    expect(updateClaims(binding([], [configMaps]), { resource: 'secrets.core' }, 'Accepted')).toBeUndefined();
    expect(updateClaims(binding([], []), {}, 'Accepted')).toEqual([]);
  });
});

test('the table has a row for each claim of a binding', () => {
  const rows = claimRows([
    binding([claimWithState(configMaps, 'Accepted'), claimWithState(sheriffs, 'Rejected')], []),
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

test('boundResourceRows distinguishes stored from virtual resources', () => {
  const boundResources = [
    { group: 'cloud.example.com', resource: 'instances', storageVersions: ['v1'] },
    { group: 'cloud.example.com', resource: 'cpuflavors' },
    { resource: 'notes', storageVersions: [] },
  ];
  expect(boundResourceRows({ ...binding(undefined, []), status: { boundResources } })).toEqual([
    ['instances.cloud.example.com', 'stored'],
    ['cpuflavors.cloud.example.com', 'virtual'],
    ['notes', 'virtual'],
  ]);
  expect(boundResourceRows(binding(undefined, []))).toEqual([]);
});
