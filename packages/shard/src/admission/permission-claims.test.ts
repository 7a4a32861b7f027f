import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import {
  claimLabels,
  claimLabelPrefix,
  exportLabelValue,
  reflexiveClaimLabelValue,
  type ClaimedObjects,
} from '@multiplane/apis';
import type { IndexedBinding } from '../api-sharing/binding-index.ts';
import { ClaimLabels } from '../api-sharing/claim-labels.ts';
import type { ClaimReferences } from '../api-sharing/claim-references.ts';
import { PermissionClaims } from './permission-claims.ts';

const claim = { resource: 'configmaps', verbs: ['*'], selector: { matchAll: true }, state: 'Accepted' as const };
const bindingOf = (more: Partial<IndexedBinding> = {}): IndexedBinding => ({
  name: 'things',
  exportCluster: 'provider' as LogicalClusterName,
  exportPath: undefined,
  exportName: 'things',
  deleting: false,
  released: false,
  bound: [],
  claims: [claim],
  exportClaims: [claim],
  labels: {},
  ...more,
});
const labels = claimLabels('provider', 'things', claim);

/** A plugin for a logical cluster whose bindings may change. */
function pluginOf(...first: IndexedBinding[]): ReturnType<typeof pluginWith> {
  return pluginWith({ ready: () => undefined, has: () => false }, ...first);
}

function pluginWith(
  references: Pick<ClaimReferences, 'ready' | 'has'>,
  ...first: IndexedBinding[]
): {
  plugin: PermissionClaims;
  become: (...bindings: IndexedBinding[]) => void;
} {
  let current: readonly IndexedBinding[] = first;
  const index = { of: () => current, boundResource: () => undefined };
  return {
    plugin: new PermissionClaims({ labels: new ClaimLabels({ bindings: index, references }) }),
    become: (...bindings) => void (current = bindings),
  };
}
const attributesOf = (object: KubeObject, resource = 'configmaps', group = '', subresource = ''): AdmissionAttributes =>
  ({
    operation: 'CREATE',
    definition: {
      group,
      resource,
      kind: 'ConfigMap',
      fieldSelectors: { type: (it: KubeObject) => String(it['type']) },
    },
    namespace: 'default',
    user: { name: 'somebody', groups: [], extra: {}, uid: '' },
    cluster: 'here',
    subresource,
    name: '',
    object,
  }) as unknown as AdmissionAttributes;
const map = (given?: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'm', ...(given === undefined ? {} : { labels: given }) },
});
function admitted(binding: IndexedBinding, object: KubeObject, group = '', resource = 'configmaps') {
  const { plugin } = pluginOf(binding);
  const attributes = attributesOf(object, resource, group);
  void plugin.admit(attributes);
  plugin.validate(attributes);
  return object.metadata.labels;
}

describe('labels of claims', () => {
  test('are set on claimed objects', () => {
    expect(admitted(bindingOf(), map({ a: 'b' }))).toEqual({ a: 'b', ...labels });
    expect(admitted(bindingOf(), map(), 'other.dev')).toBeUndefined();
    expect(admitted(bindingOf(), map(), '', 'secrets')).toBeUndefined();
  });

  test('are set on a binding that the system creates bound, but not for a client', () => {
    const made = (more: Partial<AdmissionAttributes>): KubeObject['metadata']['labels'] => {
      const object = {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: 'new' },
        spec: { reference: { export: { path: 'root:p', name: 'things' } } },
        status: { apiExportClusterName: 'provider' },
      };
      const { plugin } = pluginOf();
      const attributes = { ...attributesOf(object, 'apibindings', 'apis.kcp.io'), ...more };
      void plugin.admit(attributes);
      plugin.validate(attributes);
      return (object as KubeObject).metadata.labels;
    };
    const reflexive = { [`${claimLabelPrefix}${exportLabelValue('provider', 'things')}`]: reflexiveClaimLabelValue };
    expect(made({ keepsStatus: true })).toEqual(reflexive);
    expect(made({})).toBeUndefined();
  });

  test('need export and consumer, and stay until the binding is released', () => {
    for (const binding of [
      bindingOf({ claims: [{ ...claim, state: 'Rejected' }] }),
      bindingOf({ exportClaims: [] }),
      bindingOf({ exportCluster: undefined }),
      bindingOf({ deleting: true, released: true }),
      bindingOf({ claims: [{ ...claim, identityHash: 'abc' }], exportClaims: [{ ...claim, identityHash: 'abc' }] }),
      bindingOf({ claims: [{ ...claim, selector: { matchLabels: { x: 'y' } } }] }),
      bindingOf({ claims: [{ ...claim, selector: {} }] }),
      bindingOf({ claims: [{ ...claim, selector: { matchExpressions: [{ key: 'x', operator: 'Nonsense' }] } }] }),
    ])
      expect(admitted(binding, map(labels))).toBeUndefined();
    expect(admitted(bindingOf({ deleting: true }), map())).toEqual(labels);
  });

  test('of events cover both API groups', () => {
    for (const group of ['', 'events.k8s.io']) {
      const events = { ...claim, group, resource: 'events' };
      const binding = bindingOf({ claims: [events], exportClaims: [events] });
      const expected = claimLabels('provider', 'things', { ...claim, resource: 'events' });
      for (const written of ['', 'events.k8s.io'])
        expect(admitted(binding, map(), written, 'events')).toEqual(expected);
    }
  });

  test('that change after the mutating stage are rejected', () => {
    const { plugin } = pluginOf(bindingOf());
    const object = map();
    void plugin.admit(attributesOf(object));
    const [key] = Object.keys(labels) as [string];
    object.metadata.labels = { [key]: 'forged', [`${claimLabelPrefix}x`]: 'y' };
    expect(() => plugin.validate(attributesOf(object))).toThrow(
      `[metadata.labels[${key}]: Invalid value: "forged": must be "${labels[key]}", metadata.labels[${claimLabelPrefix}x]: Forbidden: must not be set]`,
    );
  });

  test('may be outdated if a claim changes between the stages', () => {
    const { plugin, become } = pluginOf(bindingOf());
    const object = map();
    void plugin.admit(attributesOf(object));
    become();
    expect(plugin.validate(attributesOf(object))).toBeUndefined();
    const unclaimed = map();
    void plugin.admit(attributesOf(unclaimed));
    become(bindingOf());
    expect(plugin.validate(attributesOf(unclaimed))).toBeUndefined();
  });

  test('include those of all bindings of the logical cluster', () => {
    const { plugin } = pluginOf(bindingOf(), bindingOf({ name: 'more', exportName: 'more' }));
    const object = map();
    void plugin.admit(attributesOf(object));
    expect(object.metadata.labels).toEqual({ ...labels, ...claimLabels('provider', 'more', claim) });
  });

  test('of an object with many labels are set and checked in passes', async () => {
    const { plugin, become } = pluginOf(bindingOf());
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`l${index}`, 'x']));
    const object = map({ ...many, [`${claimLabelPrefix}forged`]: 'y' });
    await plugin.admit(attributesOf(object));
    expect(object.metadata.labels).toEqual({ ...many, ...labels });
    // Claims that change between the stages are excused, labels are not.
    become();
    plugin.validate(attributesOf(object));
    (object.metadata.labels as Record<string, string>)['l0'] = 'changed';
    expect(() => plugin.validate(attributesOf(object))).toThrow('must not be set');
  });

  test('are protected in status updates, and ignored for other subresources', () => {
    const { plugin } = pluginOf();
    const status = map(labels);
    void plugin.admit(attributesOf(status, 'configmaps', '', 'status'));
    expect(status.metadata.labels).toBeUndefined();
    const scale = { ...map(labels), kind: 'Scale' };
    void plugin.admit(attributesOf(scale, 'configmaps', '', 'scale'));
    expect(scale.metadata.labels).toEqual(labels);
  });

  describe('for some objects of the resource', () => {
    const limited = (objects: ClaimedObjects, offer: ClaimedObjects | undefined = objects): IndexedBinding =>
      bindingOf({
        claims: [{ ...claim, objects }],
        exportClaims: [{ ...claim, ...(offer === undefined ? {} : { objects: offer }) }],
      });

    test('are set by name, namespace and field, and all of them must match', () => {
      for (const objects of [
        { names: ['m', 'n'] },
        { namespaces: ['default'] },
        { fieldSelector: 'type=Opaque' },
        { fieldSelector: 'metadata.name=m,metadata.namespace!=other' },
        { names: ['m'], namespaces: ['default'], fieldSelector: 'type!=Other' },
      ])
        expect(admitted(limited(objects), { ...map(), type: 'Opaque' })).toEqual(labels);
      for (const objects of [
        { names: ['n'] },
        { names: [] },
        { namespaces: ['other'] },
        { fieldSelector: 'type=Other' },
        { fieldSelector: 'unknown=x' },
        { fieldSelector: 'type' },
        { names: ['m'], namespaces: ['other'] },
        { references: [{ group: 'example.dev', resource: 'things', path: '.spec.ref' }] },
      ])
        expect(admitted(limited(objects), { ...map(labels), type: 'Opaque' })).toBeUndefined();
    });

    test('are those that export and consumer agree on', () => {
      expect(admitted(limited({ names: ['m'] }, { names: ['n'] }), map(labels))).toBeUndefined();
      expect(admitted(limited({ names: ['m'] }, undefined), map())).toEqual(labels);
      const asked = bindingOf({ exportClaims: [{ ...claim, objects: { names: ['n'] } }] });
      expect(admitted(asked, map(labels))).toBeUndefined();
    });

    test('are set where an object of the export names the object, once that is known', async () => {
      const reference = { group: 'example.dev', resource: 'things', path: '.spec.ref' };
      const bound = [
        {
          group: 'example.dev',
          resource: 'things',
          schema: { name: 'v1.things.example.dev', UID: 'u', identityHash: 'i' },
        },
      ];
      const known = Promise.withResolvers<void>();
      const { plugin } = pluginWith(
        {
          ready: () => known.promise,
          has: ({ path, prefix }, cluster, namespace, name) =>
            `${prefix} ${path} ${cluster} ${namespace} ${name}` ===
            '/registry/example.dev/things/i/ .spec.ref here default m',
        },
        { ...limited({ references: [reference] }), bound },
      );
      const object = map();
      const admission = plugin.admit(attributesOf(object));
      expect(object.metadata.labels).toBeUndefined();
      known.resolve();
      await admission;
      expect(object.metadata.labels).toEqual(labels);
    });

    test('keep the provider from writing others', () => {
      const groups = ['system:kcp:apiexport:provider:things'];
      const write = (objects: ClaimedObjects, user: object): void => {
        const { plugin } = pluginOf(limited(objects));
        const attributes = { ...attributesOf(map()), user: user as AdmissionAttributes['user'] };
        void plugin.admit(attributes);
        plugin.validate(attributes);
      };
      const provider = { name: 'provider', uid: '', extra: {}, groups };
      expect(() => write({ names: ['n'] }, provider)).toThrow(
        'the permission claim of the APIExport is not for this object',
      );
      write({ names: ['m'] }, provider);
      write({ names: ['n'] }, { ...provider, groups: [] });
    });
  });
});
