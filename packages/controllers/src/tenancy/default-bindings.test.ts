import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { formatLocks, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError } from '@multiplane/client';
import { defaultBinding, defaultBindingName, defaultExportsOf, defaultLocks } from './default-bindings.ts';
import type { WorkspaceType } from './kinds.ts';

const cluster = '3gtf4w' as LogicalClusterName;
const typeIn = (home: string, spec: WorkspaceType['spec']): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name: 't', annotations: { 'kcp.io/cluster': home } },
  ...(spec === undefined ? {} : { spec }),
});
const exportOf = (resources: readonly [string, string][]): APIExport => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name: 'e' },
  spec: { resources: resources.map(([name, group]) => ({ name, group, schema: `v1.${name}.${group}` })) },
});

test('lists each default export once, in the order of the types; without a path it is in the logical cluster of the type', () => {
  expect(
    defaultExportsOf([
      typeIn('base', { defaultAPIBindings: [{ path: 'root', export: 'a' }, { export: 'own' }] }),
      typeIn('top', {
        defaultAPIBindings: [{ path: 'root', export: 'a' }, { export: 'own' }, { path: '', export: 'b' }],
      }),
    ]).map(({ path, name }) => `${path}|${name}`),
  ).toEqual(['root|a', 'base|own', 'top|own', 'top|b']);
});

test('maintains an export if one of the types does', () => {
  const binds = { defaultAPIBindings: [{ path: 'root', export: 'a' }] };
  const maintained = (first: WorkspaceType['spec'], second: WorkspaceType['spec']): boolean[] =>
    defaultExportsOf([typeIn('x', first), typeIn('y', second)]).map((one) => one.maintained);
  expect(maintained({ ...binds, defaultAPIBindingLifecycle: 'Maintain' }, binds)).toEqual([true]);
  expect(maintained(binds, { ...binds, defaultAPIBindingLifecycle: 'Maintain' })).toEqual([true]);
  expect(maintained({ ...binds, defaultAPIBindingLifecycle: 'InitializeOnly' }, binds)).toEqual([false]);
});

test('gives bindings the same names as kcp', () => {
  // As recorded scenarios compute it.
  expect(defaultBindingName('22il8ds4tc8rre1u' as LogicalClusterName, { path: 'root', name: 'tenancy.kcp.io' })).toBe(
    'tenancy.kcp.io-1fgov',
  );
  const long = defaultBindingName(cluster, { path: 'root', name: 'x'.repeat(253) });
  expect(long).toMatch(/^x{247}-[0-9a-z]{5}$/);
});

test('accepts all claims of the export, with its default selectors', () => {
  const wanted = { path: 'root:p', name: 'e', maintained: false };
  const exported = exportOf([]);
  exported.spec = {
    permissionClaims: [
      { group: '', resource: 'configmaps', verbs: ['get'] },
      { group: '', resource: 'secrets', verbs: ['*'], defaultSelector: { matchLabels: { a: 'b' } } },
    ],
  };
  expect(defaultBinding(defaultBindingName(cluster, wanted), wanted, exported).spec).toEqual({
    reference: { export: { path: 'root:p', name: 'e' } },
    permissionClaims: [
      { group: '', resource: 'configmaps', verbs: ['get'], selector: { matchAll: true }, state: 'Accepted' },
      { group: '', resource: 'secrets', verbs: ['*'], selector: { matchLabels: { a: 'b' } }, state: 'Accepted' },
    ],
  });
  expect(defaultBinding(defaultBindingName(cluster, wanted), wanted, exportOf([])).spec).toEqual({
    reference: { export: { path: 'root:p', name: 'e' } },
  });
});

test('locks names for the first export that has them; a missing export locks none', () => {
  const exports = {
    byPathAndName: (_path: string, name: string): APIExport | undefined => {
      if (name === 'twice') throw new AmbiguousPathError('two of them');
      return {
        a: exportOf([
          ['hats', 'x.dev'],
          ['caps', ''],
        ]),
        b: exportOf([
          ['hats', 'x.dev'],
          ['bags', 'x.dev'],
        ]),
      }[name];
    },
  };
  const type = typeIn('home', { defaultAPIBindings: ['a', 'missing', 'twice', 'b'].map((name) => ({ export: name })) });
  const [a, b] = ['a', 'b'].map((name) => defaultBindingName(cluster, { path: 'home', name }));
  expect(formatLocks(defaultLocks(cluster, [type], exports))).toBe(
    JSON.stringify({ 'bags.x.dev': { n: b }, caps: { n: a }, 'hats.x.dev': { n: a } }),
  );
});
