import { describe, expect, test } from '@jest/globals';
import {
  asJson,
  deepCopy,
  fieldErrorText,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, StrategyContext } from '../resource-definition.ts';
import { kcpResources } from './kcp-resources.ts';
import { foundErrors } from '../../test/found-errors.ts';

const context: StrategyContext = {
  user: { name: 'alice', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: '',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
};
const definitionOf = (resource: string): ResourceDefinition =>
  kcpResources().find((definition) => definition.resource === resource)!;
const workspaces = definitionOf('workspaces');

const stored: KubeObject = {
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'w' },
  spec: { cluster: 'abc', URL: 'https://host/clusters/root:w', type: { name: 'universal', path: 'root' } },
  status: { phase: 'Ready' },
};

/** The errors of an update of the stored workspace's spec. */
function changes(change: (spec: JsonObject) => void): string[] {
  const object = deepCopy<JsonObject>(asJson(stored)) as unknown as KubeObject;
  change(object['spec'] as JsonObject);
  return foundErrors(workspaces.strategy.validateUpdate(context, object, stored)).map(fieldErrorText);
}

describe('a workspace', () => {
  test.each([
    [
      'its type',
      (spec: JsonObject) => void (spec['type'] = { name: 'organization', path: 'root' }),
      'spec.type: Invalid value: name is immutable',
    ],
    [
      'the path of its type',
      (spec: JsonObject) => void (spec['type'] = { name: 'universal' }),
      'spec.type: Invalid value: path is immutable',
    ],
    [
      'its cluster',
      (spec: JsonObject) => void (spec['cluster'] = 'other'),
      'spec.cluster: Invalid value: "other": cluster is immutable',
    ],
    [
      'that it has a cluster',
      (spec: JsonObject) => void delete spec['cluster'],
      'spec: Invalid value: cluster cannot be unset',
    ],
    [
      'that it has an address',
      (spec: JsonObject) => void delete spec['URL'],
      'spec: Invalid value: URL cannot be unset',
    ],
  ])('never changes %s', (_what, change, message) => {
    expect(changes(change)).toEqual([message]);
  });

  test('may be mounted later', () => {
    const mount = { ref: { apiVersion: 'a/v1', kind: 'B', name: 'c' } };
    expect(changes((spec) => void (spec['mount'] = mount))).toEqual([]);
  });

  test('has a phase of the known ones, and its rules wait for a sound object', () => {
    const object = { ...stored, status: { phase: 'Nonsense' } };
    const errors = workspaces.subresources['status'];
    if (errors?.type !== 'object') throw new Error('no status');
    expect(foundErrors(errors.strategy.validateUpdate(context, object, stored)).map(fieldErrorText)).toEqual([
      'status.phase: Unsupported value: "Nonsense": supported values: "Scheduling", "Initializing", "Ready", "Unavailable", "Inactive", "Terminating", "Deleting"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });

  test('is shown with type, region, phase, address, age and reason', () => {
    expect(workspaces.tableConvertor.columns.map(({ name }) => name)).toEqual([
      'Name',
      'Type',
      'Region',
      'Phase',
      'URL',
      'Age',
      'Reason',
    ]);
    expect(workspaces.tableConvertor.cells(stored, new Date(0)).slice(0, 5)).toEqual([
      'w',
      'universal',
      null,
      'Ready',
      'https://host/clusters/root:w',
    ]);
  });
});

test('the object of a logical cluster is called cluster', () => {
  const { strategy } = definitionOf('logicalclusters');
  const object = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'other' } };
  expect(foundErrors(strategy.validate(context, object)).map(fieldErrorText)).toEqual([
    'metadata.name: Unsupported value: "other": supported values: "cluster"',
  ]);
});

test('the kinds lie where kcp keeps those of its system definitions', () => {
  for (const { group, resource, storage } of kcpResources())
    // ClusterCachedResource is another name of what lies under CachedResource.
    expect(storage?.prefix).toBe(`/registry/${group}/${resource.replace(/^clustercached/, 'cached')}/customresources/`);
});

test('exports and bindings are served in two versions and stored in the later one', () => {
  for (const resource of ['apiexports', 'apibindings']) {
    const served = kcpResources().filter((definition) => definition.resource === resource);
    expect(served.map(({ version }) => version)).toEqual(['v1alpha2', 'v1alpha1']);
    expect(served.map(({ storage }) => storage?.version)).toEqual(['v1alpha2', 'v1alpha2']);
    expect(served.map(({ converter }) => converter !== undefined)).toEqual([false, true]);
  }
});
