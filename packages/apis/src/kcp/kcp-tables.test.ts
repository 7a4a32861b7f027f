import { describe, expect, test } from '@jest/globals';
import type { Json, KubeObject } from '@multiplane/apimachinery';
import { kcpResources } from './kcp-resources.ts';

const tablesOf = (plural: string) =>
  kcpResources()
    .filter(({ resource }) => resource === plural)
    .map(({ version, tableConvertor }) => [version, tableConvertor] as const);
const object = (rest: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'compute', creationTimestamp: '1970-01-01T00:00:00Z' },
  ...(rest as Readonly<Record<string, Json>>),
});
const now = new Date(5_000);

describe.each(tablesOf('apibindings'))('the table of APIBindings in %s', (_version, table) => {
  test("has kcp's columns first", () => {
    expect(table.columns.map(({ name, priority }) => [name, priority])).toEqual([
      ['Name', 0],
      ['Age', 0],
      ['Ready', 0],
      ['Export', 0],
      ['Claims', 0],
      ['Virtual', 1],
    ]);
  });

  test('shows the export, the answered claims and the virtual resources', () => {
    const bound = (resource: string, storageVersions?: string[]): object => ({
      resource,
      group: 'cloud.example.com',
      schema: { name: 's', UID: 'u', identityHash: 'i' },
      ...(storageVersions === undefined ? {} : { storageVersions }),
    });
    const claim = (resource: string, state?: string): object => ({
      resource,
      ...(state === undefined ? {} : { state }),
    });
    const binding = object({
      spec: {
        reference: { export: { path: 'root:cloud', name: 'compute' } },
        permissionClaims: [
          claim('secrets', 'Accepted'),
          claim('configmaps', 'Rejected'),
          claim('events'),
          claim('withdrawn', 'Accepted'),
        ],
      },
      status: {
        boundResources: [bound('instances', ['v1']), bound('cpuflavors'), bound('images', [])],
        exportPermissionClaims: [
          claim('secrets'),
          claim('configmaps'),
          claim('events'),
          { resource: 'secrets', identityHash: 'other' },
        ],
      },
    });
    const virtual = 'cpuflavors.cloud.example.com,images.cloud.example.com';
    expect(table.cells(binding, now)).toEqual(['compute', '5s', null, 'root:cloud:compute', '2/4', virtual]);
    expect(table.cells(object({ spec: { reference: { export: { name: 'own' } } } }), now).slice(3)).toEqual([
      'own',
      null,
      null,
    ]);
    expect(table.cells(object({}), now).slice(3)).toEqual([null, null, null]);
  });
});

describe.each(tablesOf('apiexports'))('the table of APIExports in %s', (_version, table) => {
  const cells = (status: Readonly<Record<string, unknown>>) => table.cells(object({ status }), now).slice(-2);

  test('shows whether an export is valid, and its identity', () => {
    expect(table.columns.map(({ name }) => name).slice(-2)).toEqual(['Valid', 'Identity']);
    expect(table.columns[1]?.name).toBe('Age');
    const conditions = [{ type: 'IdentityValid', status: 'True' }];
    expect(cells({ identityHash: 'abc', conditions })).toEqual(['True', 'abc']);
    expect(
      cells({ conditions: [...conditions, { type: 'SchemasValid', status: 'False', reason: 'SchemaMissing' }] }),
    ).toEqual(['SchemaMissing', null]);
    expect(cells({})).toEqual(['Unknown', null]);
  });
});

test('the table of Workspaces shows what holds up one that is not ready', () => {
  const [, table] = tablesOf('workspaces')[0]!;
  expect(table.columns.map(({ name }) => name)).toEqual(['Name', 'Type', 'Region', 'Phase', 'URL', 'Age', 'Reason']);
  const conditions = [
    { type: 'WorkspaceInitialized', status: 'True', reason: 'x' },
    { type: 'WorkspaceScheduled', status: 'False', reason: 'Unschedulable' },
  ];
  const reason = (phase: string) => table.cells(object({ status: { phase, conditions } }), now).at(-1);
  expect(reason('Scheduling')).toBe('Unschedulable');
  expect(reason('Ready')).toBeNull();
});
