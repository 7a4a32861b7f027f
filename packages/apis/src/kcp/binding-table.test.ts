import { expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { kcpResources } from './kcp-resources.ts';

const bindings = kcpResources().filter(({ resource }) => resource === 'apibindings');
const binding: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'compute', creationTimestamp: '1970-01-01T00:00:00Z' },
};
const bound = (resource: string, group: string, storageVersions?: string[]): object => ({
  resource,
  group,
  schema: { name: 's', UID: 'u', identityHash: 'i' },
  ...(storageVersions === undefined ? {} : { storageVersions }),
});

test.each(bindings.map((definition) => [definition.version, definition.tableConvertor] as const))(
  "the table of %s has kcp's columns, and the virtual resources with -o wide",
  (_version, table) => {
    expect(table.columns.map(({ name, priority }) => [name, priority])).toEqual([
      ['Name', 0],
      ['Age', 0],
      ['Ready', 0],
      ['Virtual', 1],
    ]);
    const boundResources = [
      bound('instances', 'cloud.example.com', ['v1']),
      bound('cpuflavors', 'cloud.example.com'),
      bound('images', 'cloud.example.com', []),
    ];
    const cells = table.cells({ ...binding, status: { boundResources } }, new Date(5_000));
    expect(cells).toEqual(['compute', '5s', null, 'cpuflavors.cloud.example.com,images.cloud.example.com']);
    expect(table.cells(binding, new Date(5_000)).at(-1)).toBeNull();
  },
);
