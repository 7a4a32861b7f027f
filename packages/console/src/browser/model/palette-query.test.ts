import { describe, expect, test } from '@jest/globals';
import { resourcesOf } from './discovery.ts';
import { matchRank, parsePaletteQuery } from './palette-query.ts';

const resources = resourcesOf([
  {
    items: [
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            resources: [
              {
                resource: 'configmaps',
                singularResource: 'configmap',
                responseKind: { kind: 'ConfigMap' },
                scope: 'Namespaced',
                shortNames: ['cm'],
                verbs: ['list'],
              },
            ],
          },
        ],
      },
      {
        metadata: { name: 'example.io' },
        versions: [
          {
            version: 'v2',
            resources: [{ resource: 'widgets', responseKind: { kind: 'Widget' }, scope: 'Cluster', verbs: ['list'] }],
          },
          {
            version: 'v1',
            resources: [
              { resource: 'widgets', responseKind: { kind: 'Widget' }, scope: 'Cluster', verbs: ['list'] },
              { resource: 'reviews', responseKind: { kind: 'Review' }, scope: 'Cluster', verbs: ['create'] },
            ],
          },
        ],
      },
    ],
  },
]);

test('a resource is served in the version that its group prefers, or in the one that has it', () => {
  expect(resources.map(({ resource, version }) => `${resource} ${version}`)).toEqual([
    'configmaps v1',
    'reviews v1',
    'widgets v2',
  ]);
});

describe('what is asked for', () => {
  test.each(['cm web', 'configmaps web', 'ConfigMap web', 'configmap  web'])('%s: objects of ConfigMap', (input) => {
    const { objects } = parsePaletteQuery(input, resources);
    expect(objects).toMatchObject({ resource: { resource: 'configmaps' }, name: 'web' });
  });
  test('with the group', () => {
    expect(parsePaletteQuery('widgets.example.io a', resources).objects?.resource.resource).toBe('widgets');
  });
  test.each(['reviews a', 'nothing a'])('%s: no resource that has a list', (input) => {
    expect(parsePaletteQuery(input, resources).objects).toBeUndefined();
  });
  test.each([
    ['root:te', 'root', 'te'],
    ['root:org:', 'root:org', ''],
  ])('%s: children of %s that begin with "%s"', (input, parent, prefix) => {
    expect(parsePaletteQuery(input, resources).workspace).toEqual({ parent, prefix });
  });
  test('a word is looked for in names', () => {
    expect(parsePaletteQuery(' Team ', resources)).toMatchObject({
      text: 'team',
      workspace: undefined,
      objects: undefined,
    });
  });
});

test('better matches come first', () => {
  const names = ['my-web', 'cobweb', 'web-1', 'web', 'other'];
  const rank = (name: string): number => matchRank(name, 'web') ?? 9;
  expect(names.toSorted((a, b) => rank(a) - rank(b))).toEqual(['web', 'web-1', 'my-web', 'cobweb', 'other']);
});
