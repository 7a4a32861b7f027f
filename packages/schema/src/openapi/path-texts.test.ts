import { expect, test } from '@jest/globals';
import { scale, status, widgets } from '../../test/openapi-documents.ts';
import type { OpenAPIResource } from './openapi-resource.ts';
import { buildOpenAPIv3 } from './openapi-v3.ts';
import { PathTexts } from './path-texts.ts';

const definitions = { resolve: (): undefined => undefined, version: 'v1.36.0' };

const kinds: readonly (readonly [string, OpenAPIResource])[] = [
  ['namespaced', widgets],
  ['another one of the same form', { ...widgets, kind: 'Part', listKind: 'Parts', resource: 'parts' }],
  ['of another group', { ...widgets, group: 'some.other-group.io', version: 'v2beta1' }],
  ['cluster-scoped', { ...widgets, namespaced: false, kind: 'Plant', listKind: 'PlantList', resource: 'plants' }],
  ['with subresources', { ...widgets, subresources: [status, scale] }],
  ['to be read only', { ...widgets, verbs: ['get', 'list', 'watch'] }],
  ['built in', { ...widgets, origin: 'built-in', group: '', kind: 'Pod', resource: 'pods', listKind: 'PodList' }],
  ['built in, of a group', { ...widgets, origin: 'built-in', group: 'apps.k8s.io', returnsDeletedObject: true }],
  ['with names that JSON escapes', { ...widgets, kind: 'W"idget\\$&', resource: '__proto__' }],
];

test('the texts of a resource are those of its document, whatever form came before', () => {
  const texts = new PathTexts();
  // Twice: the first of a form is built, the others are put together.
  for (const [what, resource] of [...kinds, ...kinds]) {
    const { paths } = buildOpenAPIv3(resource, [resource], definitions) as { paths: Record<string, unknown> };
    const { members } = texts.of(resource);
    expect([what, Object.fromEntries(members.map(([path, text]) => [path, JSON.parse(text)]))]).toEqual([what, paths]);
  }
});

test('the references of the paths besides the kind are returned', () => {
  const { references } = new PathTexts().of({ ...widgets, subresources: [scale] });
  expect(references.toSorted()).toEqual([
    'io.k8s.api.autoscaling.v1.Scale',
    ...['DeleteOptions', 'Patch', 'Status'].map((name) => `io.k8s.apimachinery.pkg.apis.meta.v1.${name}`),
  ]);
});
