import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ClaimReference } from '@multiplane/apis';
import { customResourcePrefix } from '@multiplane/storage';
import fc from 'fast-check';
import { CachedObjectsFixture } from '../../test/cached-objects-fixture.ts';
import { ClaimReferences, sourceOf, type ReferenceChange, type ReferenceSource } from './claim-references.ts';

const bindingsPrefix = customResourcePrefix('apis.kcp.io', 'apibindings');
const thingsPrefix = customResourcePrefix('example.dev', 'things', 'identity');
const secrets = { group: '', resource: 'secrets' };
const here = 'here' as LogicalClusterName;
const there = 'there' as LogicalClusterName;
const bound = [
  { group: 'example.dev', resource: 'things', schema: { name: 'v1.things', UID: 'u', identityHash: 'identity' } },
];
const byRefs: ClaimReference = { group: 'example.dev', resource: 'things', path: '.spec.refs[*]' };
const source = (more: Partial<ClaimReference> = {}): ReferenceSource =>
  sourceOf({ ...byRefs, ...more }, secrets, bound) as ReferenceSource;

let objects: CachedObjectsFixture;
let references: ClaimReferences;
let changes: string[];
beforeEach(async () => {
  objects = await CachedObjectsFixture.open();
  references = new ClaimReferences(objects);
  references.start();
  changes = [];
  references.subscribe(({ cluster, claimed, namespace, name }: ReferenceChange) => {
    changes.push(`${cluster} ${claimed.resource} ${namespace}/${name}`);
  });
});
afterEach(async () => {
  references.stop();
  await objects.cache.close();
});

const bind = (cluster: LogicalClusterName, reference: ClaimReference | undefined = byRefs, state = 'Accepted') => {
  const claim = { resource: 'secrets', verbs: ['*'], objects: { references: [reference] } };
  return objects.put(
    bindingsPrefix,
    { cluster, namespace: '', name: 'b' },
    {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'b', uid: 'b', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: {
        reference: { export: { name: 'things' } },
        permissionClaims: [{ ...claim, selector: { matchAll: true }, state }],
      },
      status: { apiExportClusterName: 'provider', boundResources: bound, exportPermissionClaims: [claim] },
    },
  );
};
const thing = (cluster: LogicalClusterName, namespace: string, name: string, ...refs: (string | JsonObject)[]) =>
  objects.put(
    thingsPrefix,
    { cluster, namespace, name },
    {
      apiVersion: 'example.dev/v1',
      kind: 'Thing',
      metadata: { name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { refs },
    },
  );

describe('objects that objects of an export name', () => {
  test('are known while the claim is accepted', async () => {
    await thing(here, 'a', 'early', 'one');
    await bind(here);
    await references.ready([source()]);
    expect(references.has(source(), here, 'a', 'one')).toBe(true);
    expect(references.has(source(), here, 'b', 'one')).toBe(false);
    expect(references.has(source(), there, 'a', 'one')).toBe(false);
    // The initial list is no change: who accepts a claim looks at all objects.
    expect(changes).toEqual([]);
    await bind(here, byRefs, 'Rejected');
    expect(references.has(source(), here, 'a', 'one')).toBe(false);
  });

  test('enter with the first reference and leave with the last', async () => {
    await bind(here);
    await references.ready([source()]);
    await thing(here, 'a', 'x', 'one', { name: 'two' });
    await thing(here, 'a', 'y', 'one', 'one');
    expect(changes.splice(0)).toEqual(['here secrets a/one', 'here secrets a/two']);
    await thing(here, 'a', 'x', { name: 'two' }, { name: 7 }, {}, '');
    expect(changes).toEqual([]);
    await objects.remove(thingsPrefix, { cluster: here, namespace: 'a', name: 'y' });
    expect(changes.splice(0)).toEqual(['here secrets a/one']);
    expect(references.has(source(), here, 'a', 'one')).toBe(false);
    expect(references.has(source(), here, 'a', 'two')).toBe(true);
  });

  test('lie in the namespace of what names them, unless the claim says otherwise', async () => {
    await bind(here);
    await bind(there, { ...byRefs, otherNamespaces: true });
    const wide = source({ otherNamespaces: true });
    await references.ready([source(), wide]);
    for (const cluster of [here, there]) {
      await thing(cluster, 'a', 'x', { name: 'own', namespace: 'a' }, { name: 'other', namespace: 'b' });
      await thing(cluster, '', 'wide', { name: 'anywhere', namespace: 'c' }, 'without');
    }
    const seen = (one: ReferenceSource, cluster: LogicalClusterName): string[] =>
      ['a/own', 'b/other', 'c/anywhere', '/without', '/own', '/other'].filter((text) => {
        const [namespace = '', name = ''] = text.split('/');
        return references.has(one, cluster, namespace, name);
      });
    expect(seen(source(), here)).toEqual(['a/own', 'c/anywhere', '/without']);
    expect(seen(wide, there)).toEqual(['a/own', 'b/other', 'c/anywhere', '/without', '/own', '/other']);
  });

  test('are those of a model, whatever happens', async () => {
    await bind(here);
    await references.ready([source()]);
    const names = ['one', 'two', 'three'];
    const namespaces = ['a', 'b'];
    const things = new Map<string, readonly string[]>();
    const known = new Set<string>();
    const step = fc.record({
      namespace: fc.constantFrom(...namespaces),
      name: fc.constantFrom('x', 'y'),
      refs: fc.option(fc.array(fc.constantFrom(...names), { maxLength: 3 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const { namespace, name, refs } of steps) {
          const key = `${namespace}/${name}`;
          if (refs !== null) {
            await thing(here, namespace, name, ...refs);
            things.set(key, refs);
          } else if (things.delete(key)) await objects.remove(thingsPrefix, { cluster: here, namespace, name });
          const expected = new Set(
            [...things].flatMap(([from, to]) => to.map((target) => `${from.slice(0, 1)}/${target}`)),
          );
          for (const space of namespaces)
            for (const target of names)
              expect(references.has(source(), here, space, target)).toBe(expected.has(`${space}/${target}`));
          // Each change says that an object entered or left; together they lead to what is known now.
          for (const change of changes.splice(0)) {
            const object = change.slice('here secrets '.length);
            if (!known.delete(object)) known.add(object);
          }
          expect(known).toEqual(expected);
        }
      }),
    );
  });
});
