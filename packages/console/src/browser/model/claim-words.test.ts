import { expect, test } from '@jest/globals';
import { claimKey, claimName, claimWords } from './claim-words.ts';

test.each([
  [
    ['get', 'list', 'watch'],
    'Read ConfigMaps',
    'The provider sees all ConfigMaps in this workspace. It cannot change them.',
  ],
  [
    ['get'],
    'Read ConfigMaps',
    'The provider sees ConfigMaps in this workspace whose names it knows. It cannot change them.',
  ],
  [
    ['create', 'patch'],
    'Create and change ConfigMaps',
    'The provider does not see the ConfigMaps in this workspace, but it can create and change them.',
  ],
  [
    ['list', 'update', 'delete', 'create'],
    'Read, create, change and delete ConfigMaps',
    'The provider sees all ConfigMaps in this workspace, and it can create, change and delete them.',
  ],
  [
    ['*', 'get'],
    'Do everything with ConfigMaps',
    'The provider sees all ConfigMaps in this workspace, and can create, change and delete them.',
  ],
  [
    ['approve'],
    'Approve ConfigMaps',
    'The provider does not see the ConfigMaps in this workspace. It cannot change them.',
  ],
])('%j: %s', (verbs, title, text) => {
  expect(claimWords({ resource: 'configmaps', verbs }, 'ConfigMap')).toEqual({ title, text, isSensitive: false });
});

test.each([
  [{ resource: 'secrets' }, true],
  [{ resource: 'secrets', group: 'other.io' }, false],
  [{ resource: 'rolebindings', group: 'rbac.authorization.k8s.io' }, true],
])('%j is sensitive: %p', (claim, isSensitive) => expect(claimWords(claim).isSensitive).toBe(isSensitive));

test('a kind that is not known here has its plural; kinds have the plural of English', () => {
  expect(claimWords({ resource: 'widgets', group: 'x.io', verbs: ['get'] }).title).toBe('Read widgets.x.io');
  expect(claimWords({ resource: 'p', verbs: ['get'] }, 'NetworkPolicy').title).toBe('Read NetworkPolicies');
  expect(claimWords({ resource: 'i', verbs: ['get'] }, 'Ingress').title).toBe('Read Ingresses');
});

test('a claim of a certain provider says so', () => {
  expect(claimWords({ resource: 'widgets', verbs: ['get'], identityHash: 'abc' }).text).toContain(
    'one certain provider',
  );
});

test('a claim is the same in an export and in a binding', () => {
  expect(claimKey({ resource: 'secrets', group: '', identityHash: '' })).toBe(claimKey({ resource: 'secrets' }));
  expect(claimName({ resource: 'secrets' })).toBe('secrets.core');
});

test('a claim for some objects says which', () => {
  const references = [{ resource: 'databases', path: '.spec.secretRef' }];
  const { text } = claimWords(
    { resource: 'secrets', verbs: ['get'], objects: { names: ['a', 'b'], references }, subresources: [] },
    'Secret',
  );
  expect(text).toBe(
    'The provider sees Secrets in this workspace whose names it knows. It cannot change them. Only those named a and b, of these only those that databases name in .spec.secretRef. Of subresources: none.',
  );
});
