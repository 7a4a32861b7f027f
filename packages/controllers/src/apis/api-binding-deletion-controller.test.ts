import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  StatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindingFinalizer,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import { crds } from '../apiextensions/crd-names.ts';
import type { Controller } from '../runtime/controller.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { apiBindingDeletionController } from './api-binding-deletion-controller.ts';

const widgets: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'widgets' };
const consumer = 'consumer' as LogicalClusterName;
const reference = { cluster: consumer, namespace: '', name: 'things' };
const widget = (name: string, finalizers?: string[]): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', ...(finalizers === undefined ? {} : { finalizers }) },
});
const bindingOf = (status: object = {}): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name: 'things', finalizers: [apiBindingFinalizer] },
  status: {
    phase: 'Bound',
    boundResources: [
      {
        group: 'example.dev',
        resource: 'widgets',
        schema: { name: 'v2.widgets.example.dev', UID: 'schema', identityHash: 'hash' },
        storageVersions: ['v1'],
      },
    ],
    ...status,
  },
});

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
function start(): Controller {
  const { informers } = api;
  const made = apiBindingDeletionController({
    informers,
    globalInformers: informers,
    exports: new PathAndNameIndex({ informer: informers.informer<APIExport>(apiExports) }),
    client: api.client,
    clock,
    logger: silentLogger,
  });
  void made.start();
  return made;
}
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  controller = start();
});
afterEach(() => controller.stop());
const binding = () => api.get<APIBinding>(apiBindings, consumer, 'things');
const success = (): string | undefined => {
  const found = binding()?.status?.conditions?.find(({ type }) => type === 'BindingResourceDeleteSuccess');
  return found === undefined ? undefined : `${found.status} ${found.reason ?? ''}: ${found.message ?? ''}`;
};
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, [controller]);

describe('a deleted APIBinding', () => {
  test('is removed with the objects of its resources only', async () => {
    api.put(widgets, consumer, widget('a'));
    api.put({ ...widgets, resource: 'gears' }, consumer, { ...widget('b'), kind: 'Gear' });
    api.put(apiBindings, consumer, bindingOf());
    api.remove(apiBindings, reference);
    await settled();
    expect(binding()).toBeUndefined();
    expect(api.all(widgets)).toEqual([]);
    expect(api.all({ ...widgets, resource: 'gears' })).toHaveLength(1);
  });

  test('waits for finalizers of its objects and is removed with the last object', async () => {
    api.put(widgets, consumer, widget('held', ['example.dev/hold']));
    api.put(apiBindings, consumer, bindingOf());
    api.remove(apiBindings, reference);
    await settled();
    expect(success()).toBe(
      'False SomeFinalizersRemain: Some content in the workspace has finalizers remaining: example.dev/hold in 1 resource instances',
    );
    api.put(widgets, consumer, widget('held'));
    api.remove(widgets, { cluster: consumer, namespace: 'default', name: 'held' });
    await settled();
    expect(binding()).toBeUndefined();
  });

  describe('with a binding to another export', () => {
    const provider = 'provider' as LogicalClusterName;
    const exportOf = (identityHash: string, schema: string): KubeObject => ({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'successor' },
      spec: { resources: [{ group: 'example.dev', name: 'widgets', schema, storage: { crd: {} } }] },
      status: { identityHash },
    });
    const schemaOf = (name: string, uid: string): KubeObject => ({
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name, uid },
      spec: { group: 'example.dev', names: { plural: 'widgets', kind: 'Widget' }, versions: [] },
    });
    const successor = (metadata: object = {}): KubeObject => ({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name: 'successor', finalizers: [apiBindingFinalizer], ...metadata },
      spec: { reference: { export: { path: 'provider', name: 'successor' } } },
    });
    beforeEach(() => {
      api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev', 'schema'));
      api.put(apiResourceSchemas, provider, schemaOf('v3.widgets.example.dev', 'other'));
      api.put(widgets, consumer, widget('a'));
      api.put(apiBindings, consumer, bindingOf());
    });
    const remaining = async (): Promise<number> => {
      api.remove(apiBindings, reference);
      await settled();
      expect(binding()).toBeUndefined();
      return api.all(widgets).length;
    };

    test('keeps the objects that it takes over', async () => {
      api.put(apiExports, provider, exportOf('hash', 'v2.widgets.example.dev'));
      api.put(apiBindings, consumer, successor());
      expect(await remaining()).toBe(1);
    });

    test.each([
      ['of another identity', exportOf('other', 'v2.widgets.example.dev'), successor()],
      ['with another schema', exportOf('hash', 'v3.widgets.example.dev'), successor()],
      ['whose schema is missing', exportOf('hash', 'v4.widgets.example.dev'), successor()],
      [
        'that is deleted itself',
        exportOf('hash', 'v2.widgets.example.dev'),
        successor({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.dev/hold'] }),
      ],
      [
        'of another workspace',
        exportOf('hash', 'v2.widgets.example.dev'),
        { ...successor(), spec: { reference: { export: { path: 'elsewhere', name: 'successor' } } } },
      ],
    ])('deletes the objects if the other is one %s', async (_what, exported, other) => {
      api.put(apiExports, provider, exported);
      api.put(apiBindings, consumer, other);
      expect(await remaining()).toBe(0);
    });
  });

  test('deletes objects in a served version, whichever they are stored in', async () => {
    api.put(crds, boundDefinitionsCluster as LogicalClusterName, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'schema' },
      spec: {
        group: 'example.dev',
        versions: [
          { name: 'v1', served: false, storage: false },
          { name: 'v2', served: true, storage: true },
        ],
      },
    });
    const versions: string[] = [];
    api.onWrite = (verb, resource) => void (verb === 'deletecollection' && versions.push(resource.version));
    api.put(widgets, consumer, widget('old'));
    api.put(apiBindings, consumer, bindingOf());
    api.remove(apiBindings, reference);
    await settled();
    expect(versions).toEqual(['v2']);
  });

  test('reports failures and retries', async () => {
    let broken = true;
    api.onWrite = (verb) => {
      if (broken && verb === 'deletecollection')
        throw new StatusError({ code: 500, reason: 'InternalError', message: 'storage is unavailable' });
    };
    api.put(widgets, consumer, widget('a'));
    api.put(apiBindings, consumer, bindingOf());
    api.remove(apiBindings, reference);
    await settled();
    expect(success()).toBe('False ResourceDeletionFailed: widgets.example.dev: storage is unavailable');
    broken = false;
    await clock.advance(60_000);
    expect(binding()).toBeUndefined();
  });

  test('waits until no permission claim is applied', async () => {
    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    api.put(apiBindings, consumer, bindingOf({ appliedPermissionClaims: claims }));
    api.remove(apiBindings, reference);
    await settled();
    expect(success()).toBe('True : ');
    const { appliedPermissionClaims: _claims, ...status } = binding()?.status ?? {};
    await api.client.update(apiBindings, consumer, { ...(binding() as KubeObject), status }, { subresource: 'status' });
    await settled();
    expect(binding()).toBeUndefined();
  });

  test('does not delete objects of virtual resources', async () => {
    api.put(widgets, consumer, widget('virtual'));
    const { status } = bindingOf() as APIBinding;
    const [{ storageVersions: _versions, ...resource } = { group: '' }] = status?.boundResources ?? [];
    api.put(apiBindings, consumer, bindingOf({ boundResources: [resource] }));
    api.remove(apiBindings, reference);
    await settled();
    expect(binding()).toBeUndefined();
    expect(api.all(widgets)).toHaveLength(1);
  });

  test('interrupted before any write, is removed by the next controller', async () => {
    await controller.stop();
    for (let allowed = 0; ; allowed++) {
      api = new FakeApi();
      api.put(widgets, consumer, widget('a'));
      api.put(apiBindings, consumer, bindingOf());
      api.remove(apiBindings, reference);
      let left = allowed;
      api.onWrite = () => {
        if (left-- <= 0) throw new Error('killed');
      };
      const first = start();
      await settled();
      const wasInterrupted = left < 0;
      await first.stop();
      api.onWrite = () => undefined;
      controller = start();
      await settled();
      expect(binding()).toBeUndefined();
      expect(api.all(widgets)).toEqual([]);
      if (!wasInterrupted) {
        expect(allowed).toBeGreaterThan(1);
        return;
      }
      await controller.stop();
    }
  });
});
