import { expect, test } from '@jest/globals';
import { describedSchema } from './described-schema.ts';
import { kcpResources } from './kcp-resources.ts';
import { rootExportOf } from './root-export-kinds.ts';
import { rootExports } from './root-exports.ts';

test('root exports what kcp exports there, with a schema for each resource', () => {
  expect(
    rootExports().map(({ export: { metadata, spec }, feature, schemas }) => ({
      name: metadata.name,
      feature,
      policy: spec?.maximalPermissionPolicy,
      resources: spec?.resources?.map(({ name, group }) => `${name}.${group ?? ''}`),
      fits: spec?.resources?.every(({ schema }, at) => schema === schemas[at]?.metadata.name),
    })),
  ).toEqual([
    {
      name: 'tenancy.kcp.io',
      feature: undefined,
      policy: { local: {} },
      resources: [
        'workspaceauthenticationconfigurations.tenancy.kcp.io',
        'workspaces.tenancy.kcp.io',
        'workspacetypes.tenancy.kcp.io',
      ],
      fits: true,
    },
    {
      name: 'topology.kcp.io',
      feature: undefined,
      policy: undefined,
      resources: ['partitions.topology.kcp.io', 'partitionsets.topology.kcp.io'],
      fits: true,
    },
    {
      name: 'scopes.multiplane.dev',
      feature: undefined,
      policy: { local: {} },
      resources: [
        'apiexportscopeendpointslices.scopes.multiplane.dev',
        'apiexportscopes.scopes.multiplane.dev',
        'apiexportscopesets.scopes.multiplane.dev',
      ],
      fits: true,
    },
    {
      name: 'shards.core.kcp.io',
      feature: undefined,
      policy: undefined,
      resources: ['shards.core.kcp.io'],
      fits: true,
    },
    {
      name: 'cache.kcp.io',
      feature: 'CacheAPIs',
      policy: undefined,
      resources: ['cachedresourceendpointslices.cache.kcp.io', 'cachedresources.cache.kcp.io'],
      fits: true,
    },
  ]);
});

test('what is bound is what is served', () => {
  for (const { schemas } of rootExports()) {
    for (const { metadata, spec } of schemas) {
      const served = kcpResources().filter(
        ({ group, resource }) => group === spec?.group && resource === spec.names.plural,
      );
      expect(served.map(({ version, kind, schema }) => ({ version, kind, schema: schema.source }))).toEqual(
        spec?.versions.map(({ name, schema }) => ({
          version: name,
          kind: spec.names.kind,
          schema: describedSchema(spec.names.kind, schema),
        })),
      );
      expect(metadata.name).toMatch(/^v\d{6}-[0-9a-f]{9}\.[a-z]+\.[a-z.]+$/);
    }
  }
});

test('kinds of an export that may be switched off are served without it', () => {
  expect(rootExportOf('tenancy.kcp.io', 'workspaces')).toBe('tenancy.kcp.io');
  expect(rootExportOf('core.kcp.io', 'shards')).toBe('shards.core.kcp.io');
  expect(rootExportOf('core.kcp.io', 'logicalclusters')).toBeUndefined();
  expect(rootExportOf('cache.kcp.io', 'cachedresources')).toBeUndefined();
});
