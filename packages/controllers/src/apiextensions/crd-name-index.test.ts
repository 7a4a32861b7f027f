import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { CrdNameIndex } from './crd-name-index.ts';
import type { CustomResourceDefinition } from './crd-names.ts';

const here = 'here' as LogicalClusterName;
const there = 'there' as LogicalClusterName;

function crd(
  plural: string,
  kind: string,
  { group = 'example.dev', shortNames = [] as string[], accepted = true } = {},
) {
  const names = { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Cluster', names, versions: [] },
    status: accepted
      ? {
          acceptedNames: names,
          conditions: [{ type: 'NamesAccepted', status: 'True', reason: '', message: '', lastTransitionTime: '' }],
        }
      : {},
  } as CustomResourceDefinition;
}

test('names are taken by other definitions of the same group and logical cluster only', () => {
  const index = new CrdNameIndex();
  const widgets = crd('widgets', 'Widget', { shortNames: ['w'] });
  index.set(here, widgets);
  const other = crd('windows', 'Window');
  expect(['widgets', 'widget', 'w', 'windows'].map(index.taken(here, other).resource)).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(['Widget', 'WidgetList', 'Window'].map(index.taken(here, other).kind)).toEqual([true, true, false]);
  expect(index.taken(here, widgets).resource('widgets')).toBe(false);
  expect(index.taken(there, other).resource('widgets')).toBe(false);
  expect(index.taken(here, crd('windows', 'Window', { group: 'other.dev' })).resource('widgets')).toBe(false);
});

test('released names are free, and definitions that wait for names are listed', () => {
  const index = new CrdNameIndex();
  const widgets = crd('widgets', 'Widget', { shortNames: ['w'] });
  const waiting = crd('windows', 'Window', { accepted: false });
  index.set(here, widgets);
  index.set(here, waiting);
  expect(index.waiting(here, 'example.dev')).toEqual(['windows.example.dev']);
  index.set(here, crd('widgets', 'Widget'));
  expect(index.taken(here, waiting).resource('w')).toBe(false);
  index.delete(here, widgets);
  expect(index.taken(here, waiting).resource('widgets')).toBe(false);
});
