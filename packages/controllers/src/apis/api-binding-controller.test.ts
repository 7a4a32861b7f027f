import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  isConditionTrue,
  StatusError,
  statusErrors,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiConversions,
  apiExports,
  apiResourceSchemas,
  conversionsAnnotation,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle } from '@multiplane/testing';
import { crdController } from '../apiextensions/crd-controller.ts';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import { precomputeBoundStatus } from '../tenancy/precompute-bound-status.ts';
import {
  provider,
  consumer,
  bound,
  namesOf,
  schemaOf,
  exportOf,
  bindingOf,
  definitionIn,
  BindingFixture,
} from '../../test/binding-fixture.ts';

let fixture: BindingFixture;
beforeEach(() => {
  fixture = new BindingFixture();
});
afterEach(() => fixture.controller.stop());
const settled = (): Promise<void> => advanceUntilIdle(fixture.clock, 1_000, [fixture.controller]);

describe('an APIBinding', () => {
  test('becomes Bound, with its resource, lock and conditions', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.binding('things')?.status).toEqual({
      phase: 'Bound',
      apiExportClusterName: 'provider',
      boundResources: [
        {
          group: 'example.dev',
          resource: 'widgets',
          schema: { name: 'v1.widgets.example.dev', UID: 'uid-of-v1.widgets.example.dev', identityHash: 'hash' },
          storageVersions: ['v1'],
        },
      ],
      conditions: [
        'Ready',
        'APIExportValid',
        'BindingUpToDate',
        'InitialBindingCompleted',
        'PermissionClaimsApplied',
        'PermissionClaimsValid',
      ].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: expect.any(String),
      })),
    });
    expect(fixture.locks).toBe('{"widgets.example.dev":{"n":"things"}}');
    expect(fixture.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.metadata.annotations).toMatchObject({
      'apis.kcp.io/bound-crd': '',
      'apis.kcp.io/schema-cluster': 'provider',
      'apis.kcp.io/schema-name': 'v1.widgets.example.dev',
    });
  });

  test('is bound immediately after a start; in kcp the first one waits five seconds', async () => {
    const start = fixture.clock.monotonic();
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await fixture.clock.advance(0);
    expect(fixture.binding('things')?.status?.phase).toBe('Bound');
    expect(fixture.clock.monotonic()).toBe(start);
  });

  test('takes one write each for locks, definition and status; the definition is created established', async () => {
    const observed: unknown[] = [];
    fixture.api.informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: ({ status }) => observed.push([isConditionTrue(status?.conditions, 'Established'), status?.acceptedNames]),
    });
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(observed).toEqual([[true, namesOf('widgets')]]);
    expect(fixture.api.writes).toEqual([
      'patch logicalclusters consumer|cluster',
      'create customresourcedefinitions system:bound-crds|uid-of-v1.widgets.example.dev',
      'update apibindings consumer|things',
    ]);
  });

  test('creates a definition that the CRD controller does not change', async () => {
    const { informers, client } = fixture.api;
    const builtInNames = () => ({ resources: new Set<string>(), kinds: new Set<string>() });
    const definitions = crdController(
      { builtInNames },
      { informers, client, clock: fixture.clock, logger: silentLogger },
    );
    await definitions.start();
    // Without singular and list kind, which are defaulted.
    fixture.api.put(
      apiResourceSchemas,
      provider,
      schemaOf('v1.widgets.example.dev', { plural: 'widgets', kind: 'Widget' }),
    );
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await definitions.stop();
    expect(fixture.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.['status']).toMatchObject({
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
    });
    expect(fixture.api.writes.filter((write) => write.includes('customresourcedefinitions'))).toHaveLength(1);
  });

  test('is reconciled when another writer changes its status', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const before = fixture.binding('things') as KubeObject;
    fixture.api.put(apiBindings, consumer, {
      ...before,
      status: { ...(before['status'] as JsonObject), boundResources: [] },
    });
    await settled();
    expect(fixture.binding('things')?.status?.boundResources).toMatchObject([{ resource: 'widgets' }]);
  });

  test('is not written after a restart if it is up to date', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await fixture.controller.stop();
    const before = fixture.api.writes.length;
    fixture.controller = fixture.start();
    await settled();
    expect(fixture.api.writes.slice(before)).toEqual([]);
  });

  test('created with its status is not reconciled, unless its export has changed since', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const { status } = fixture.binding('things') as APIBinding;
    const writes = fixture.api.writes.length;
    const other = 'other' as LogicalClusterName;
    const outdated = 'outdated' as LogicalClusterName;
    for (const cluster of [other, outdated])
      fixture.api.put(logicalClusters, cluster, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
    const withStatus = { ...bindingOf('things'), status } as KubeObject;
    fixture.api.put(apiBindings, other, withStatus);
    await settled();
    expect(fixture.api.writes.slice(writes)).toEqual([]);
    fixture.api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    fixture.api.put(apiBindings, outdated, withStatus);
    await settled();
    const now = fixture.api.get<APIBinding>(apiBindings, outdated, 'things');
    expect(now?.status?.boundResources).toMatchObject([{ resource: 'gears' }]);
  });

  test('gets the status that is precomputed for default bindings', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const { informers } = fixture.api;
    const at = (cluster: LogicalClusterName, name: string) => ({ cluster, namespace: '', name });
    const precomputed = precomputeBoundStatus(
      bindingOf('things'),
      informers.informer<APIExport>(apiExports).get(at(provider, 'things')) as APIExport,
      informers.informer(logicalClusters).get(at(consumer, 'cluster')) as KubeObject,
      {
        informers,
        schema: (cluster, name) => informers.informer<APIResourceSchema>(apiResourceSchemas).get(at(cluster, name)),
      },
      new Date(0),
    );
    const conditions = precomputed?.conditions?.map((condition) => ({
      ...condition,
      lastTransitionTime: expect.any(String),
    }));
    expect(fixture.binding('things')?.status).toEqual({ ...precomputed, conditions });
  });

  test('waits for its export by events, without polling', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('later', 'later'));
    await settled();
    expect(fixture.conditionsOf('later')).toEqual({
      Ready: 'False WaitingForEstablished: Waiting for API(s) to be established',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|later not found',
      InitialBindingCompleted: 'False WaitingForEstablished: Waiting for API(s) to be established',
    });
    fixture.api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev']));
    await settled();
    expect(fixture.conditionsOf('later')['APIExportValid']).toBe(
      'False MissingIdentityHash: APIExport root:provider|later is missing status.identityHash',
    );
    fixture.api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev'], 'later-hash'));
    await settled();
    expect(fixture.conditionsOf('later')['APIExportValid']).toBe(
      'False InternalError: Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "v2.widgets.example.dev" not found',
    );
    fixture.api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev'));
    await settled();
    expect(fixture.binding('later')?.status?.phase).toBe('Bound');
  });

  test('without a path refers to an export in its own logical cluster', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('near', 'near', ''));
    await settled();
    expect(fixture.conditionsOf('near')['APIExportValid']).toBe(
      'False APIExportNotFound: APIExport consumer|near not found',
    );
    fixture.api.put(apiResourceSchemas, consumer, schemaOf('v1.widgets.example.dev'));
    fixture.api.put(apiExports, consumer, {
      ...exportOf('near', ['v1.widgets.example.dev'], 'near-hash'),
      metadata: { name: 'near' },
    });
    await settled();
    expect(fixture.binding('near')?.status).toMatchObject({ phase: 'Bound', apiExportClusterName: 'consumer' });
  });

  test('stays Ready when its export is deleted', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    await settled();
    expect(fixture.conditionsOf('things')).toMatchObject({
      Ready: 'True',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|things not found',
      InitialBindingCompleted: 'True',
    });
    expect(fixture.binding('things')?.status).toMatchObject({
      phase: 'Bound',
      boundResources: [{ resource: 'widgets' }],
    });
  });

  test('is not taken over by a different export at the same path', async () => {
    const thief = 'thief' as LogicalClusterName;
    const claims = (name: string, identity: string): KubeObject => {
      const made = exportOf(name, ['v1.widgets.example.dev'], identity);
      const permissionClaims = [{ group: '', resource: 'secrets', verbs: ['*'] }];
      return { ...made, spec: { ...(made['spec'] as JsonObject), permissionClaims } };
    };
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    fixture.api.put(apiResourceSchemas, thief, {
      ...schemaOf('v1.widgets.example.dev'),
      metadata: { name: 'v1.widgets.example.dev', uid: 'of-thief' },
    });
    fixture.api.put(apiExports, thief, claims('things', 'another-hash'));
    await settled();
    expect(fixture.conditionsOf('things')['APIExportValid']).toBe(
      'False APIExportNotFound: APIExport root:provider|things not found: the one that has its path now is another one',
    );
    expect(fixture.binding('things')?.status).toMatchObject({
      apiExportClusterName: provider,
      boundResources: [{ schema: { identityHash: 'hash' } }],
    });
    expect(fixture.binding('things')?.status?.exportPermissionClaims).toBeUndefined();
    // An export with the same identity is the same API.
    fixture.api.put(apiExports, thief, claims('things', 'hash'));
    await settled();
    expect(fixture.binding('things')?.status?.apiExportClusterName).toBe(thief);
  });

  test('shows the permission claims of its export', async () => {
    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    const object = exportOf('things', ['v1.widgets.example.dev'], 'hash');
    fixture.api.put(apiExports, provider, {
      ...object,
      spec: { ...(object['spec'] as JsonObject), permissionClaims: claims },
    });
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.binding('things')?.status?.exportPermissionClaims).toEqual(claims);
  });

  test('copies conversions to the definition', async () => {
    const conversions = [{ from: 'v1', to: 'v2', rules: [{ field: '.spec.a', destination: '.spec.b' }] }];
    fixture.api.put(apiConversions, provider, {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: 'v1.widgets.example.dev' },
      spec: { conversions },
    });
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const definition = fixture.api.get(crds, bound, 'uid-of-v1.widgets.example.dev');
    expect(JSON.parse(definition?.metadata.annotations?.[conversionsAnnotation] ?? '')).toEqual(conversions);
  });
});

describe('failures', () => {
  test('reports locks that do not fit into the annotations of the LogicalCluster', async () => {
    fixture.api.onWrite = (_verb, { resource }) => {
      if (resource !== logicalClusters.resource) return;
      throw new StatusError({ code: 422, reason: 'Invalid', message: 'metadata.annotations: Too long' });
    };
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False InternalError: Unable to bind APIs: metadata.annotations: Too long',
    );
  });

  test('reports the causes of an invalid schema', async () => {
    fixture.api.onWrite = (verb, { resource }) => {
      if (verb !== 'create' || resource !== crds.resource) return;
      throw new StatusError({
        code: 422,
        reason: 'Invalid',
        message: 'is invalid',
        details: {
          causes: [
            { reason: 'FieldValueInvalid', message: 'Invalid value: "x": no', field: 'spec.scope' },
            // The same error as for the names in the spec.
            { reason: 'FieldValueInvalid', message: 'Invalid value: "y": no', field: 'status.acceptedNames.plural' },
          ],
        },
      });
    };
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False APIResourceSchemaInvalid: APIResourceSchema provider|v1.widgets.example.dev is invalid: [{FieldValueInvalid Invalid value: "x": no spec.scope}]',
    );
  });

  test('reports definitions that are not established within a quarter of a second', async () => {
    fixture.api.onWrite = (verb, { resource }) => {
      if (verb === 'create' && resource === crds.resource) throw statusErrors.alreadyExists(crds, 'slow');
    };
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await fixture.clock.advance(200);
    expect(fixture.binding('things')?.status).toBeUndefined();
    await fixture.clock.advance(100);
    const message = 'False WaitingForEstablished: Waiting for API(s) to be established: v1.widgets.example.dev';
    expect(fixture.conditionsOf('things')).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
  });

  test('creates a definition once for a hundred concurrent bindings', async () => {
    let creates = 0;
    fixture.api.onWrite = (verb, { resource }) => void (verb === 'create' && resource === crds.resource && creates++);
    const places = Array.from({ length: 100 }, (_, index) => `consumer-${index}` as LogicalClusterName);
    for (const place of places) {
      fixture.api.put(logicalClusters, place, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      fixture.api.put(apiBindings, place, bindingOf('things'));
    }
    const phaseIn = (place: LogicalClusterName) =>
      fixture.api.get<APIBinding>(apiBindings, place, 'things')?.status?.phase;
    await fixture.clock.advance(0);
    expect(new Set(places.map(phaseIn))).toEqual(new Set(['Bound']));
    expect(creates).toBe(1);
    expect(fixture.api.writes.filter((write) => write.includes(' apibindings '))).toHaveLength(100);
  });

  test('waits by events for a definition that another process created', async () => {
    const definition = definitionIn('widgets');
    const metadata = { name: 'uid-of-v1.widgets.example.dev' };
    fixture.api.put(crds, bound, { ...definition, metadata, status: { acceptedNames: { plural: '', kind: '' } } });
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await fixture.clock.advance(0);
    expect(fixture.api.writes).toContain('patch logicalclusters consumer|cluster');
    expect(fixture.binding('things')?.status).toBeUndefined();
    const start = fixture.clock.monotonic();
    fixture.api.put(crds, bound, { ...definition, metadata });
    await fixture.clock.advance(0);
    expect(fixture.binding('things')?.status?.phase).toBe('Bound');
    expect(fixture.clock.monotonic()).toBe(start);
  });

  test('recreates a deleted definition', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.remove(crds, { cluster: bound, namespace: '', name: 'uid-of-v1.widgets.example.dev' });
    await settled();
    expect(fixture.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')).toBeDefined();
    expect(fixture.conditionsOf('things')['BindingUpToDate']).toBe('True');
  });

  test('a binding interrupted before any write is completed by the next controller', async () => {
    for (let allowed = 0; ; allowed++) {
      fixture = new BindingFixture();
      await fixture.controller.stop();
      fixture.api.put(logicalClusters, consumer, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      fixture.api.put(
        apiExports,
        provider,
        exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'),
      );
      fixture.api.put(apiBindings, consumer, bindingOf('things'));
      let left = allowed;
      fixture.api.onWrite = () => {
        if (left-- <= 0) throw new Error('killed');
      };
      const first = fixture.start();
      await settled();
      const wasInterrupted = left < 0;
      await first.stop();
      fixture.api.onWrite = () => undefined;
      fixture.controller = fixture.start();
      await settled();
      expect(fixture.binding('things')?.status).toMatchObject({
        phase: 'Bound',
        boundResources: [{ resource: 'widgets' }, { resource: 'gears' }],
      });
      expect(fixture.locks).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
      if (!wasInterrupted) {
        expect(allowed).toBeGreaterThan(3);
        return;
      }
      await fixture.controller.stop();
    }
  });
});
