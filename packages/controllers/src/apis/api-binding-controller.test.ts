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
} from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { atRest, eventually } from '@multiplane/testing';
import { crdController } from '../apiextensions/crd-controller.ts';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import {
  provider,
  consumer,
  bound,
  namesOf,
  schemaOf,
  exportOf,
  bindingOf,
  definitionIn,
  BindingWorld,
} from '../test-support/binding-world.ts';

let world: BindingWorld;
beforeEach(() => {
  world = new BindingWorld();
});
afterEach(() => world.controller.stop());
const settled = (): Promise<void> => atRest(world.clock, 1_000, [world.controller]);

describe('a binding', () => {
  test('is Bound, with its resource, its lock and its conditions', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.binding('things')?.status).toEqual({
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
    expect(world.locks).toBe('{"widgets.example.dev":{"n":"things"}}');
    expect(world.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.metadata.annotations).toMatchObject({
      'apis.kcp.io/bound-crd': '',
      'apis.kcp.io/schema-cluster': 'provider',
      'apis.kcp.io/schema-name': 'v1.widgets.example.dev',
    });
  });

  test('that is the first after a start is bound before any time has passed; in the reference it waits five seconds', async () => {
    const start = world.clock.monotonic();
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await eventually(() => expect(world.binding('things')?.status?.phase).toBe('Bound'));
    expect(world.clock.monotonic()).toBe(start);
  });

  test('costs a write each for what is defined, locked and told, and its definition is established from its first moment', async () => {
    const looks: unknown[] = [];
    world.api.informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: ({ status }) => looks.push([isConditionTrue(status?.conditions, 'Established'), status?.acceptedNames]),
    });
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(looks).toEqual([[true, namesOf('widgets')]]);
    expect(world.api.writes).toEqual([
      'patch logicalclusters consumer|cluster',
      'create customresourcedefinitions system:bound-crds|uid-of-v1.widgets.example.dev',
      'update apibindings consumer|things',
    ]);
  });

  test('has a definition to which the controller of definitions has nothing to add', async () => {
    const { informers, client } = world.api;
    const builtInNames = () => ({ resources: new Set<string>(), kinds: new Set<string>() });
    const definitions = crdController(
      { builtInNames },
      { informers, client, clock: world.clock, logger: silentLogger },
    );
    await definitions.start();
    // Neither singular nor list kind: the API fills them in.
    world.api.put(
      apiResourceSchemas,
      provider,
      schemaOf('v1.widgets.example.dev', { plural: 'widgets', kind: 'Widget' }),
    );
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await definitions.stop();
    expect(world.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.['status']).toMatchObject({
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
    });
    expect(world.api.writes.filter((write) => write.includes('customresourcedefinitions'))).toHaveLength(1);
  });

  test('is looked at again when somebody else changed it together with its own write', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const before = world.binding('things') as KubeObject;
    world.api.put(apiBindings, consumer, {
      ...before,
      status: { ...(before['status'] as JsonObject), boundResources: [] },
    });
    await settled();
    expect(world.binding('things')?.status?.boundResources).toMatchObject([{ resource: 'widgets' }]);
  });

  test('that is right costs no write', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await world.controller.stop();
    const before = world.api.writes.length;
    world.controller = world.start();
    await settled();
    expect(world.api.writes.slice(before)).toEqual([]);
  });

  test('that is made whole is left alone, unless its export offers something else by then', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const { status } = world.binding('things') as APIBinding;
    const writes = world.api.writes.length;
    const other = 'other' as LogicalClusterName;
    const late = 'late' as LogicalClusterName;
    for (const cluster of [other, late])
      world.api.put(logicalClusters, cluster, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
    const whole = { ...bindingOf('things'), status } as KubeObject;
    world.api.put(apiBindings, other, whole);
    await settled();
    expect(world.api.writes.slice(writes)).toEqual([]);
    world.api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    world.api.put(apiBindings, late, whole);
    await settled();
    const now = world.api.get<APIBinding>(apiBindings, late, 'things');
    expect(now?.status?.boundResources).toMatchObject([{ resource: 'gears' }]);
  });

  test('waits for its export, and is told by it and not by a clock', async () => {
    world.api.put(apiBindings, consumer, bindingOf('later', 'later'));
    await settled();
    expect(world.conditionsOf('later')).toEqual({
      Ready: 'False WaitingForEstablished: Waiting for API(s) to be established',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|later not found',
      InitialBindingCompleted: 'False WaitingForEstablished: Waiting for API(s) to be established',
    });
    world.api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev']));
    await settled();
    expect(world.conditionsOf('later')['APIExportValid']).toBe(
      'False MissingIdentityHash: APIExport root:provider|later is missing status.identityHash',
    );
    world.api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev'], 'later-hash'));
    await settled();
    expect(world.conditionsOf('later')['APIExportValid']).toBe(
      'False InternalError: Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "v2.widgets.example.dev" not found',
    );
    world.api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev'));
    await settled();
    expect(world.binding('later')?.status?.phase).toBe('Bound');
  });

  test('without a path means an export beside it', async () => {
    world.api.put(apiBindings, consumer, bindingOf('near', 'near', ''));
    await settled();
    expect(world.conditionsOf('near')['APIExportValid']).toBe(
      'False APIExportNotFound: APIExport consumer|near not found',
    );
    world.api.put(apiResourceSchemas, consumer, schemaOf('v1.widgets.example.dev'));
    world.api.put(apiExports, consumer, {
      ...exportOf('near', ['v1.widgets.example.dev'], 'near-hash'),
      metadata: { name: 'near' },
    });
    await settled();
    expect(world.binding('near')?.status).toMatchObject({ phase: 'Bound', apiExportClusterName: 'consumer' });
  });

  test('that is bound stays usable when its export goes', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    await settled();
    expect(world.conditionsOf('things')).toMatchObject({
      Ready: 'True',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|things not found',
      InitialBindingCompleted: 'True',
    });
    expect(world.binding('things')?.status).toMatchObject({
      phase: 'Bound',
      boundResources: [{ resource: 'widgets' }],
    });
  });

  test('is not handed over with the path of its export: a workspace that is made anew inherits no bindings', async () => {
    const thief = 'thief' as LogicalClusterName;
    const claims = (name: string, identity: string): KubeObject => {
      const made = exportOf(name, ['v1.widgets.example.dev'], identity);
      const permissionClaims = [{ group: '', resource: 'secrets', verbs: ['*'] }];
      return { ...made, spec: { ...(made['spec'] as JsonObject), permissionClaims } };
    };
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    world.api.put(apiResourceSchemas, thief, {
      ...schemaOf('v1.widgets.example.dev'),
      metadata: { name: 'v1.widgets.example.dev', uid: 'of-thief' },
    });
    world.api.put(apiExports, thief, claims('things', 'another-hash'));
    await settled();
    expect(world.conditionsOf('things')['APIExportValid']).toBe(
      'False APIExportNotFound: APIExport root:provider|things not found: the one that has its path now is another one',
    );
    expect(world.binding('things')?.status).toMatchObject({
      apiExportClusterName: provider,
      boundResources: [{ schema: { identityHash: 'hash' } }],
    });
    expect(world.binding('things')?.status?.exportPermissionClaims).toBeUndefined();
    // Who has its identity is who was bound.
    world.api.put(apiExports, thief, claims('things', 'hash'));
    await settled();
    expect(world.binding('things')?.status?.apiExportClusterName).toBe(thief);
  });

  test('carries the claims of its export', async () => {
    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    const object = exportOf('things', ['v1.widgets.example.dev'], 'hash');
    world.api.put(apiExports, provider, {
      ...object,
      spec: { ...(object['spec'] as JsonObject), permissionClaims: claims },
    });
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.binding('things')?.status?.exportPermissionClaims).toEqual(claims);
  });

  test('takes conversions into the definition', async () => {
    const conversions = [{ from: 'v1', to: 'v2', rules: [{ field: '.spec.a', destination: '.spec.b' }] }];
    world.api.put(apiConversions, provider, {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: 'v1.widgets.example.dev' },
      spec: { conversions },
    });
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const definition = world.api.get(crds, bound, 'uid-of-v1.widgets.example.dev');
    expect(JSON.parse(definition?.metadata.annotations?.[conversionsAnnotation] ?? '')).toEqual(conversions);
  });
});

describe('what goes wrong', () => {
  test('more names than a logical cluster can lock are told', async () => {
    world.api.onWrite = (_verb, { resource }) => {
      if (resource !== logicalClusters.resource) return;
      throw new StatusError({ code: 422, reason: 'Invalid', message: 'metadata.annotations: Too long' });
    };
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False InternalError: Unable to bind APIs: metadata.annotations: Too long',
    );
  });

  test('a schema that is no definition is told with its causes', async () => {
    world.api.onWrite = (verb, { resource }) => {
      if (verb !== 'create' || resource !== crds.resource) return;
      throw new StatusError({
        code: 422,
        reason: 'Invalid',
        message: 'is invalid',
        details: {
          causes: [
            { reason: 'FieldValueInvalid', message: 'Invalid value: "x": no', field: 'spec.scope' },
            // The names of the spec, told once more.
            { reason: 'FieldValueInvalid', message: 'Invalid value: "y": no', field: 'status.acceptedNames.plural' },
          ],
        },
      });
    };
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False APIResourceSchemaInvalid: APIResourceSchema provider|v1.widgets.example.dev is invalid: [{FieldValueInvalid Invalid value: "x": no spec.scope}]',
    );
  });

  test('definitions that take long are told, those that are on their way are not', async () => {
    world.api.onWrite = (verb, { resource }) => {
      if (verb === 'create' && resource === crds.resource) throw statusErrors.alreadyExists(crds, 'slow');
    };
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await world.clock.advance(200);
    expect(world.binding('things')?.status).toBeUndefined();
    await world.clock.advance(100);
    const message = 'False WaitingForEstablished: Waiting for API(s) to be established: v1.widgets.example.dev';
    expect(world.conditionsOf('things')).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
  });

  test('a hundred bindings need one definition at once, and it is made once', async () => {
    let asked = 0;
    world.api.onWrite = (verb, { resource }) => void (verb === 'create' && resource === crds.resource && asked++);
    const places = Array.from({ length: 100 }, (_, index) => `consumer-${index}` as LogicalClusterName);
    for (const place of places) {
      world.api.put(logicalClusters, place, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      world.api.put(apiBindings, place, bindingOf('things'));
    }
    const phaseIn = (place: LogicalClusterName) =>
      world.api.get<APIBinding>(apiBindings, place, 'things')?.status?.phase;
    await eventually(() => expect(new Set(places.map(phaseIn))).toEqual(new Set(['Bound'])));
    expect(asked).toBe(1);
    expect(world.api.writes.filter((write) => write.includes(' apibindings '))).toHaveLength(100);
  });

  test('a definition that somebody else made is waited for, and no longer than it takes', async () => {
    const made = definitionIn('widgets');
    const metadata = { name: 'uid-of-v1.widgets.example.dev' };
    world.api.put(crds, bound, { ...made, metadata, status: { acceptedNames: { plural: '', kind: '' } } });
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await eventually(() => expect(world.api.writes).toContain('patch logicalclusters consumer|cluster'));
    expect(world.binding('things')?.status).toBeUndefined();
    const start = world.clock.monotonic();
    world.api.put(crds, bound, { ...made, metadata });
    await eventually(() => expect(world.binding('things')?.status?.phase).toBe('Bound'));
    expect(world.clock.monotonic()).toBe(start);
  });

  test('a definition that is deleted is made again', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.remove(crds, { cluster: bound, namespace: '', name: 'uid-of-v1.widgets.example.dev' });
    await settled();
    expect(world.api.get(crds, bound, 'uid-of-v1.widgets.example.dev')).toBeDefined();
    expect(world.conditionsOf('things')['BindingUpToDate']).toBe('True');
  });

  test('killed after any write, a binding is finished by the next controller', async () => {
    for (let allowed = 0; ; allowed++) {
      world = new BindingWorld();
      await world.controller.stop();
      world.api.put(logicalClusters, consumer, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      world.api.put(
        apiExports,
        provider,
        exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'),
      );
      world.api.put(apiBindings, consumer, bindingOf('things'));
      let left = allowed;
      world.api.onWrite = () => {
        if (left-- <= 0) throw new Error('killed');
      };
      const first = world.start();
      await settled();
      const wasKilled = left < 0;
      await first.stop();
      world.api.onWrite = () => undefined;
      world.controller = world.start();
      await settled();
      expect(world.binding('things')?.status).toMatchObject({
        phase: 'Bound',
        boundResources: [{ resource: 'widgets' }, { resource: 'gears' }],
      });
      expect(world.locks).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
      if (!wasKilled) {
        expect(allowed).toBeGreaterThan(3);
        return;
      }
      await world.controller.stop();
    }
  });
});
