import { beforeEach, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerHandlers, InformerSource } from '@multiplane/client';
import { ClaimedResourceExistence } from './claimed-resource-existence.ts';

const consumer = 'consumer' as LogicalClusterName;
const binding = 'consumer||wheels';
const claim = { group: 'example.dev', resource: 'wheels', identityHash: 'abc', verbs: ['*'], selector: {} };

const handlers = new Map<string, InformerHandlers>();
const informers = {
  informer: ({ resource }: GroupVersionResource) => ({
    addHandlers: (added: InformerHandlers) => handlers.set(resource, added),
  }),
} as unknown as InformerSource;
const reference = (name: string) => ({ cluster: consumer, namespace: '', name });
const anExport = (...resources: string[]): KubeObject =>
  ({
    metadata: { name: 'factory' },
    spec: { resources: resources.map((name) => ({ group: 'example.dev', name })) },
    status: { identityHash: 'abc' },
  }) as unknown as KubeObject;
const aBinding = (phase: string, ...resources: string[]): KubeObject =>
  ({
    metadata: { name: 'other' },
    status: { phase, boundResources: resources.map((resource) => ({ group: 'example.dev', resource })) },
  }) as unknown as KubeObject;

let served:
  | (GroupVersionResource & { readonly namespaced: boolean; readonly bound?: { readonly identity: string } })
  | undefined;
let reconciled: string[];
let existence: ClaimedResourceExistence;
beforeEach(() => {
  served = undefined;
  reconciled = [];
  existence = new ClaimedResourceExistence({
    informers,
    globalInformers: informers,
    objects: { resourceOf: () => served },
    changed: (key) => reconciled.push(key),
  });
});
const sync = (): void => handlers.get('apiexports')?.synced?.();
const missing = () => existence.missing(binding, consumer, [claim])?.map(({ resource }) => resource);

test('what is missing is only known once the APIExports of all shards are', () => {
  expect(missing()).toBeUndefined();
  expect(reconciled).toEqual([]);
  sync();
  expect(reconciled).toEqual([binding]);
  expect(missing()).toEqual(['wheels']);
});

test('a claim exists as long as an APIExport offers its resource', () => {
  sync();
  expect(missing()).toEqual(['wheels']);
  handlers.get('apiexports')?.added?.(anExport('wheels'), reference('factory'));
  expect(reconciled).toEqual([binding]);
  expect(missing()).toEqual([]);

  handlers.get('apiexports')?.updated?.(anExport('wheels', 'tyres'), anExport('wheels'), reference('factory'));
  expect(reconciled).toEqual([binding]);
  handlers.get('apiexports')?.updated?.(anExport('tyres'), anExport('wheels', 'tyres'), reference('factory'));
  expect(reconciled).toEqual([binding, binding]);
  expect(missing()).toEqual(['wheels']);
});

test('a resource of another identity in the workspace is not the claimed one', () => {
  sync();
  served = { group: 'example.dev', version: 'v1', resource: 'wheels', namespaced: true };
  expect(missing()).toEqual(['wheels']);
  served = { ...served, bound: { identity: 'abd' } };
  expect(missing()).toEqual(['wheels']);
  served = { ...served, bound: { identity: 'abc' } };
  expect(missing()).toEqual([]);
});

test('a binding is reconciled when its workspace gains or loses a resource of the claimed name', () => {
  sync();
  missing();
  const bindings = handlers.get('apibindings');
  const definitions = handlers.get('customresourcedefinitions');
  const aDefinition = (plural: string): KubeObject =>
    ({ metadata: {}, spec: { group: 'example.dev', names: { plural } } }) as unknown as KubeObject;
  bindings?.updated?.(aBinding('Bound', 'wheels'), aBinding('Binding', 'wheels'), reference('other'));
  bindings?.updated?.(aBinding('Bound', 'tyres'), aBinding('Binding'), reference('other'));
  definitions?.added?.(aDefinition('tyres'), reference('tyres.example.dev'));
  expect(reconciled).toEqual([]);
  bindings?.updated?.(aBinding('Bound', 'wheels'), aBinding('Binding'), reference('other'));
  bindings?.deleted?.(aBinding('Bound', 'wheels'), reference('other'));
  definitions?.added?.(aDefinition('wheels'), reference('wheels.example.dev'));
  definitions?.deleted?.(aDefinition('wheels'), reference('wheels.example.dev'));
  expect(reconciled).toEqual([binding, binding, binding, binding]);
  existence.forget(binding);
  bindings?.deleted?.(aBinding('Bound', 'wheels'), reference('other'));
  expect(reconciled).toHaveLength(4);
});
