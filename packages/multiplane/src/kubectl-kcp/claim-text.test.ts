import { describe, expect, test } from '@jest/globals';
import { answeredClaims, claimText } from './claim-text.ts';
import type { Binding, Claim } from './permission-claims.ts';

const binding = (own: readonly Claim[], exported: readonly Claim[]): Binding => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'mine' },
  spec: { permissionClaims: own },
  status: { exportPermissionClaims: exported },
});
const textOf = (claim: Claim): string =>
  claimText(answeredClaims(binding([], [claim]))[0]?.claim ?? { resource: '', verbs: [] });

describe('a claim in plain words', () => {
  test.each([
    [{ resource: 'secrets', verbs: ['*'] }, 'everything with secrets'],
    [
      { resource: 'sheriffs', group: 'wild.west', verbs: ['get', 'list', 'watch'] },
      'get, list and watch sheriffs.wild.west',
    ],
    [
      {
        resource: 'secrets',
        verbs: ['get'],
        objects: { names: ['a', 'b'], namespaces: ['c'], fieldSelector: 'type=Opaque' },
        subresources: ['status'],
      },
      'get secrets, with the names a or b, in the namespace c, where type=Opaque, of subresources only status',
    ],
    [
      {
        resource: 'secrets',
        verbs: ['get'],
        defaultSelector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] },
        objects: { references: [{ group: 'databases.dev', resource: 'databases', path: '.spec.secretRef' }] },
        subresources: [],
      },
      'get secrets, with the labels a=b and c Exists, named by databases.databases.dev in .spec.secretRef, without subresources',
    ],
  ] satisfies [Claim, string][])('%j', (claim, text) => {
    expect(textOf(claim)).toBe(text);
  });

  test('is what export and binding agree on, with the answer', () => {
    const offer: Claim = { resource: 'configmaps', verbs: ['*'], objects: { names: ['a', 'b'] } };
    const own: Claim = { ...offer, objects: { names: ['b', 'c'] }, selector: { matchAll: true }, state: 'Accepted' };
    const other: Claim = { resource: 'secrets', verbs: ['get'] };
    expect(answeredClaims(binding([own], [offer, other])).map(({ state, claim }) => [state, claimText(claim)])).toEqual(
      [
        ['Accepted', 'everything with configmaps, with the name b'],
        ['Not answered', 'get secrets'],
      ],
    );
  });
});
