import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  isConditionTrue,
  pathAnnotation,
  StatusError,
  statusErrors,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiConversions,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  conversionsAnnotation,
  resourceBindingsAnnotation,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { FakeClock, silentLogger } from '@multiplane/component-base';
import { atRest, eventually } from '@multiplane/testing';
import { crdController } from '../apiextensions/crd-controller.ts';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { FakeApi } from '../test-support/fake-api.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import { apiBindingController } from './api-binding-controller.ts';
import { ExportReferrers, exportOfBinding } from './export-finder.ts';
import type { Controller } from '../runtime/controller.ts';

const widgets: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'widgets' };
const provider = 'provider' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const bound = boundDefinitionsCluster as LogicalClusterName;

const namesOf = (plural: string, shortNames: string[] = []) => {
  const singular = plural.replace(/s$/, '');
  const kind = `${singular[0]?.toUpperCase() ?? ''}${singular.slice(1)}`;
  return { plural, singular, kind, listKind: `${kind}List`, ...(shortNames.length === 0 ? {} : { shortNames }) };
};
const schemaOf = (
  name: string,
  names: { plural: string; kind: string; singular?: string; listKind?: string } = namesOf(name.split('.')[1] as string),
): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name, uid: `uid-of-${name}` },
  spec: {
    group: 'example.dev',
    names: names as unknown as JsonObject,
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
  },
});
const exportOf = (name: string, schemas: readonly string[], identityHash?: string): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name, annotations: { [pathAnnotation]: 'root:provider' } },
  spec: {
    resources: schemas.map((schema) => ({ name: schema.split('.')[1] as string, group: 'example.dev', schema })),
  },
  ...(identityHash === undefined ? {} : { status: { identityHash } }),
});
const bindingOf = (name: string, exportName = name, path = 'root:provider'): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name },
  spec: { reference: { export: { name: exportName, ...(path === '' ? {} : { path }) } } },
});
const definitionIn = (plural: string, names = namesOf(plural)): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.dev` },
  spec: { group: 'example.dev', names: names as unknown as JsonObject, scope: 'Namespaced', versions: [] },
  status: { acceptedNames: names as unknown as JsonObject, conditions: [{ type: 'Established', status: 'True' }] },
});

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;

function start(): Controller {
  const { informers, client } = api;
  const exports = new PathAndNameIndex<APIExport>({ informer: informers.informer<APIExport>(apiExports) });
  const byExport = new ExportReferrers(
    { exportOf: exportOfBinding },
    { informer: informers.informer<APIBinding>(apiBindings) },
  );
  const made = apiBindingController({
    byExport,
    createWhole: (resource, cluster, object) => client.create(resource, cluster, object),
    updateWhole: (cluster, object) => api.updateWhole(apiBindings, cluster, object),
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: silentLogger,
    exports,
  });
  void made.start();
  return made;
}
const settled = (): Promise<void> => atRest(clock, 1_000, [controller]);
const binding = (name: string) => api.get<APIBinding>(apiBindings, consumer, name);
const conditionsOf = (name: string): Record<string, string> =>
  Object.fromEntries(
    (binding(name)?.status?.conditions ?? []).map(({ type, status, reason, message }) => [
      type,
      status === 'True' ? 'True' : `${status} ${reason ?? ''}: ${message ?? ''}`,
    ]),
  );
const locks = (): string | undefined =>
  api.get(logicalClusters, consumer, 'cluster')?.metadata.annotations?.[resourceBindingsAnnotation];

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  api.put(logicalClusters, consumer, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations: { [resourceBindingsAnnotation]: '{}' } },
  });
  api.put(apiResourceSchemas, provider, schemaOf('v1.widgets.example.dev'));
  api.put(apiResourceSchemas, provider, schemaOf('v1.gears.example.dev'));
  api.put(apiExports, provider, exportOf('things', ['v1.widgets.example.dev'], 'hash'));
  controller = start();
});
afterEach(() => controller.stop());

describe('a binding', () => {
  test('is Bound, with its resource, its lock and its conditions', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(binding('things')?.status).toEqual({
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
    expect(locks()).toBe('{"widgets.example.dev":{"n":"things"}}');
    expect(api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.metadata.annotations).toMatchObject({
      'apis.kcp.io/bound-crd': '',
      'apis.kcp.io/schema-cluster': 'provider',
      'apis.kcp.io/schema-name': 'v1.widgets.example.dev',
    });
  });

  test('that is the first after a start is bound before any time has passed; in the reference it waits five seconds', async () => {
    const start = clock.monotonic();
    api.put(apiBindings, consumer, bindingOf('things'));
    await eventually(() => expect(binding('things')?.status?.phase).toBe('Bound'));
    expect(clock.monotonic()).toBe(start);
  });

  test('costs a write each for what is defined, locked and told, and its definition is established from its first moment', async () => {
    const looks: unknown[] = [];
    api.informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: ({ status }) => looks.push([isConditionTrue(status?.conditions, 'Established'), status?.acceptedNames]),
    });
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(looks).toEqual([[true, namesOf('widgets')]]);
    expect(api.writes).toEqual([
      'patch logicalclusters consumer|cluster',
      'create customresourcedefinitions system:bound-crds|uid-of-v1.widgets.example.dev',
      'update apibindings consumer|things',
    ]);
  });

  test('has a definition to which the controller of definitions has nothing to add', async () => {
    const { informers, client } = api;
    const builtInNames = () => ({ resources: new Set<string>(), kinds: new Set<string>() });
    const definitions = crdController({ builtInNames }, { informers, client, clock, logger: silentLogger });
    await definitions.start();
    // Neither singular nor list kind: the API fills them in.
    api.put(apiResourceSchemas, provider, schemaOf('v1.widgets.example.dev', { plural: 'widgets', kind: 'Widget' }));
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await definitions.stop();
    expect(api.get(crds, bound, 'uid-of-v1.widgets.example.dev')?.['status']).toMatchObject({
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
    });
    expect(api.writes.filter((write) => write.includes('customresourcedefinitions'))).toHaveLength(1);
  });

  test('is looked at again when somebody else changed it together with its own write', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const before = binding('things') as KubeObject;
    api.put(apiBindings, consumer, { ...before, status: { ...(before['status'] as JsonObject), boundResources: [] } });
    await settled();
    expect(binding('things')?.status?.boundResources).toMatchObject([{ resource: 'widgets' }]);
  });

  test('that is right costs no write', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    await controller.stop();
    const before = api.writes.length;
    controller = start();
    await settled();
    expect(api.writes.slice(before)).toEqual([]);
  });

  test('that is made whole is left alone, unless its export offers something else by then', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const { status } = binding('things') as APIBinding;
    const writes = api.writes.length;
    const other = 'other' as LogicalClusterName;
    const late = 'late' as LogicalClusterName;
    for (const cluster of [other, late])
      api.put(logicalClusters, cluster, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
    const whole = { ...bindingOf('things'), status } as KubeObject;
    api.put(apiBindings, other, whole);
    await settled();
    expect(api.writes.slice(writes)).toEqual([]);
    api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    api.put(apiBindings, late, whole);
    await settled();
    const now = api.get<APIBinding>(apiBindings, late, 'things');
    expect(now?.status?.boundResources).toMatchObject([{ resource: 'gears' }]);
  });

  test('waits for its export, and is told by it and not by a clock', async () => {
    api.put(apiBindings, consumer, bindingOf('later', 'later'));
    await settled();
    expect(conditionsOf('later')).toEqual({
      Ready: 'False WaitingForEstablished: Waiting for API(s) to be established',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|later not found',
      InitialBindingCompleted: 'False WaitingForEstablished: Waiting for API(s) to be established',
    });
    api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev']));
    await settled();
    expect(conditionsOf('later')['APIExportValid']).toBe(
      'False MissingIdentityHash: APIExport root:provider|later is missing status.identityHash',
    );
    api.put(apiExports, provider, exportOf('later', ['v2.widgets.example.dev'], 'later-hash'));
    await settled();
    expect(conditionsOf('later')['APIExportValid']).toBe(
      'False InternalError: Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema "v2.widgets.example.dev" not found',
    );
    api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev'));
    await settled();
    expect(binding('later')?.status?.phase).toBe('Bound');
  });

  test('without a path means an export beside it', async () => {
    api.put(apiBindings, consumer, bindingOf('near', 'near', ''));
    await settled();
    expect(conditionsOf('near')['APIExportValid']).toBe('False APIExportNotFound: APIExport consumer|near not found');
    api.put(apiResourceSchemas, consumer, schemaOf('v1.widgets.example.dev'));
    api.put(apiExports, consumer, {
      ...exportOf('near', ['v1.widgets.example.dev'], 'near-hash'),
      metadata: { name: 'near' },
    });
    await settled();
    expect(binding('near')?.status).toMatchObject({ phase: 'Bound', apiExportClusterName: 'consumer' });
  });

  test('that is bound stays usable when its export goes', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    await settled();
    expect(conditionsOf('things')).toMatchObject({
      Ready: 'True',
      APIExportValid: 'False APIExportNotFound: APIExport root:provider|things not found',
      InitialBindingCompleted: 'True',
    });
    expect(binding('things')?.status).toMatchObject({ phase: 'Bound', boundResources: [{ resource: 'widgets' }] });
  });

  test('is not handed over with the path of its export: a workspace that is made anew inherits no bindings', async () => {
    const thief = 'thief' as LogicalClusterName;
    const claims = (name: string, identity: string): KubeObject => {
      const made = exportOf(name, ['v1.widgets.example.dev'], identity);
      const permissionClaims = [{ group: '', resource: 'secrets', verbs: ['*'] }];
      return { ...made, spec: { ...(made['spec'] as JsonObject), permissionClaims } };
    };
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.remove(apiExports, { cluster: provider, namespace: '', name: 'things' });
    api.put(apiResourceSchemas, thief, {
      ...schemaOf('v1.widgets.example.dev'),
      metadata: { name: 'v1.widgets.example.dev', uid: 'of-thief' },
    });
    api.put(apiExports, thief, claims('things', 'another-hash'));
    await settled();
    expect(conditionsOf('things')['APIExportValid']).toBe(
      'False APIExportNotFound: APIExport root:provider|things not found: the one that has its path now is another one',
    );
    expect(binding('things')?.status).toMatchObject({
      apiExportClusterName: provider,
      boundResources: [{ schema: { identityHash: 'hash' } }],
    });
    expect(binding('things')?.status?.exportPermissionClaims).toBeUndefined();
    // Who has its identity is who was bound.
    api.put(apiExports, thief, claims('things', 'hash'));
    await settled();
    expect(binding('things')?.status?.apiExportClusterName).toBe(thief);
  });

  test('carries the claims of its export', async () => {
    const claims = [{ group: '', resource: 'configmaps', verbs: ['get'] }];
    const object = exportOf('things', ['v1.widgets.example.dev'], 'hash');
    api.put(apiExports, provider, { ...object, spec: { ...(object['spec'] as JsonObject), permissionClaims: claims } });
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(binding('things')?.status?.exportPermissionClaims).toEqual(claims);
  });

  test('takes conversions into the definition', async () => {
    const conversions = [{ from: 'v1', to: 'v2', rules: [{ field: '.spec.a', destination: '.spec.b' }] }];
    api.put(apiConversions, provider, {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIConversion',
      metadata: { name: 'v1.widgets.example.dev' },
      spec: { conversions },
    });
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const definition = api.get(crds, bound, 'uid-of-v1.widgets.example.dev');
    expect(JSON.parse(definition?.metadata.annotations?.[conversionsAnnotation] ?? '')).toEqual(conversions);
  });
});

describe('names that are taken', () => {
  test('by another binding: exactly one of two at once gets the resource, the other when it goes', async () => {
    api.put(apiExports, provider, exportOf('rival', ['v1.widgets.example.dev'], 'rival-hash'));
    api.put(apiBindings, consumer, bindingOf('things'));
    api.put(apiBindings, consumer, bindingOf('rival'));
    await settled();
    const [winner, loser] =
      binding('things')?.status?.phase === 'Bound' ? (['things', 'rival'] as const) : (['rival', 'things'] as const);
    const message = `False NamingConflicts: Unable to bind APIs because they are bound by other APIBindings or CRDs: map[widgets.example.dev:{${winner} false}]`;
    expect(conditionsOf(loser)).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
    expect(binding(loser)?.status?.boundResources).toBeUndefined();
    api.remove(apiBindings, { cluster: consumer, namespace: '', name: winner });
    const reference = { cluster: consumer, namespace: '', name: 'cluster' };
    const annotations = { [resourceBindingsAnnotation]: '{}' };
    await api.client.patch(logicalClusters, reference, 'application/merge-patch+json', { metadata: { annotations } });
    await settled();
    expect(binding(loser)?.status?.phase).toBe('Bound');
  });

  test('by a definition of the logical cluster, until it goes', async () => {
    api.put(crds, consumer, definitionIn('widgets'));
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const message =
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "widgets.example.dev": spec.names.plural=widgets is forbidden';
    expect(conditionsOf('things')).toEqual({ BindingUpToDate: message, InitialBindingCompleted: message });
    api.remove(crds, { cluster: consumer, namespace: '', name: 'widgets.example.dev' });
    await settled();
    expect(binding('things')?.status?.phase).toBe('Bound');
  });

  test.each([
    ['singular', { ...namesOf('others'), singular: 'widget' }, 'singular=widget'],
    ['shortNames', namesOf('others', ['wd']), 'shortNames=[x wd]'],
    ['kind', { ...namesOf('others'), kind: 'Widget' }, 'kind=Widget'],
    ['listKind', { ...namesOf('others'), listKind: 'WidgetList' }, 'listKind=WidgetList'],
  ])('also the %s', async (_what, names, text) => {
    api.put(apiResourceSchemas, provider, schemaOf('v3.widgets.example.dev', namesOf('widgets', ['x', 'wd'])));
    api.put(apiExports, provider, exportOf('short', ['v3.widgets.example.dev'], 'short-hash'));
    api.put(crds, consumer, definitionIn('others', names));
    api.put(apiBindings, consumer, bindingOf('short'));
    await settled();
    expect(conditionsOf('short')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.${text} is forbidden`,
    );
  });

  test.each([
    ['secrets', namesOf('secrets'), 'secrets', 'plural=secrets'],
    ['vaults', { ...namesOf('vaults'), shortNames: ['secrets'] }, 'secrets', 'shortNames=[secrets]'],
    ['vaults', { ...namesOf('vaults'), kind: 'Secret' }, 'secrets', 'kind=Secret'],
  ])('by a kind that every logical cluster has: %s %j', async (plural, names, taken, text) => {
    const schema = schemaOf(`v1.${plural}.core`, names);
    api.put(apiResourceSchemas, provider, { ...schema, spec: { ...(schema['spec'] as JsonObject), group: '' } });
    const shadow = exportOf('shadow', [], 'shadow-hash');
    const resources = [{ name: plural, group: '', schema: `v1.${plural}.core` }];
    api.put(apiExports, provider, { ...shadow, spec: { resources } });
    api.put(apiBindings, consumer, bindingOf('shadow'));
    await settled();
    expect(conditionsOf('shadow')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with the built-in "${taken}": spec.names.${text} is forbidden`,
    );
    expect(binding('shadow')?.status?.boundResources).toBeUndefined();
  });

  test('by several are told with the first of them, whichever of its names it is', async () => {
    const uid = (text: string, names: ReturnType<typeof namesOf>): KubeObject => {
      const made = definitionIn(names.plural, names);
      return { ...made, metadata: { ...made.metadata, uid: text } };
    };
    api.put(crds, consumer, uid('2', { ...namesOf('others'), singular: 'widget' }));
    api.put(crds, consumer, uid('1', { ...namesOf('thirds'), listKind: 'WidgetList' }));
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(conditionsOf('things')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "thirds.example.dev": spec.names.listKind=WidgetList is forbidden',
    );
  });

  test('by a binding with another resource are told with its export', async () => {
    api.put(
      apiResourceSchemas,
      provider,
      schemaOf('v1.others.example.dev', { ...namesOf('others'), singular: 'widget' }),
    );
    api.put(apiExports, provider, exportOf('others', ['v1.others.example.dev'], 'others-hash'));
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.put(apiBindings, consumer, bindingOf('others'));
    await settled();
    expect(conditionsOf('others')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with APIBinding "things" bound to APIExport root:provider:things: spec.names.singular=widget is forbidden',
    );
  });
});

describe('what is exported changes', () => {
  test('to another schema: bound again, with the versions of both in storage', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const next = schemaOf('v2.widgets.example.dev');
    const spec = next['spec'] as JsonObject;
    spec['versions'] = [{ name: 'v2', served: true, storage: true, schema: { type: 'object' } }];
    api.put(apiResourceSchemas, provider, next);
    api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(binding('things')?.status?.boundResources).toMatchObject([
      { schema: { name: 'v2.widgets.example.dev' }, storageVersions: ['v1', 'v2'] },
    ]);
  });

  test('to a schema with another name that is taken: told, and bound to the old one on', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.put(crds, consumer, definitionIn('others', namesOf('others', ['wd'])));
    api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev', namesOf('widgets', ['wd'])));
    api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(conditionsOf('things')).toMatchObject({
      Ready: 'True',
      BindingUpToDate:
        'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.shortNames=[wd] is forbidden',
    });
    expect(binding('things')?.status?.boundResources).toMatchObject([{ schema: { name: 'v1.widgets.example.dev' } }]);
  });

  test('a removed resource is freed again, unlike the reference: not bound, not locked', async () => {
    api.put(apiExports, provider, exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'));
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(locks()).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
    api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    expect(binding('things')?.status?.boundResources?.map(({ resource }) => resource)).toEqual(['gears']);
    expect(locks()).toBe('{"gears.example.dev":{"n":"things"}}');
  });

  test('a removed resource that has objects is freed with the last of them', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.put(widgets, consumer, {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'n' },
    });
    api.put(apiExports, provider, exportOf('things', [], 'hash'));
    await settled();
    expect(binding('things')?.status?.boundResources).toHaveLength(1);
    expect(locks()).toBe('{"widgets.example.dev":{"n":"things"}}');
    api.remove(widgets, { cluster: consumer, namespace: 'n', name: 'w' });
    await settled();
    expect(binding('things')?.status?.boundResources).toBeUndefined();
    expect(locks()).toBe('{}');
  });
});

describe('what goes wrong', () => {
  test('more names than a logical cluster can lock are told', async () => {
    api.onWrite = (_verb, { resource }) => {
      if (resource !== logicalClusters.resource) return;
      throw new StatusError({ code: 422, reason: 'Invalid', message: 'metadata.annotations: Too long' });
    };
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False InternalError: Unable to bind APIs: metadata.annotations: Too long',
    );
  });

  test('a schema that is no definition is told with its causes', async () => {
    api.onWrite = (verb, { resource }) => {
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
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(conditionsOf('things')['InitialBindingCompleted']).toBe(
      'False APIResourceSchemaInvalid: APIResourceSchema provider|v1.widgets.example.dev is invalid: [{FieldValueInvalid Invalid value: "x": no spec.scope}]',
    );
  });

  test('definitions that take long are told, those that are on their way are not', async () => {
    api.onWrite = (verb, { resource }) => {
      if (verb === 'create' && resource === crds.resource) throw statusErrors.alreadyExists(crds, 'slow');
    };
    api.put(apiBindings, consumer, bindingOf('things'));
    await clock.advance(200);
    expect(binding('things')?.status).toBeUndefined();
    await clock.advance(100);
    const message = 'False WaitingForEstablished: Waiting for API(s) to be established: v1.widgets.example.dev';
    expect(conditionsOf('things')).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
  });

  test('a hundred bindings need one definition at once, and it is made once', async () => {
    let asked = 0;
    api.onWrite = (verb, { resource }) => void (verb === 'create' && resource === crds.resource && asked++);
    const places = Array.from({ length: 100 }, (_, index) => `consumer-${index}` as LogicalClusterName);
    for (const place of places) {
      api.put(logicalClusters, place, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      api.put(apiBindings, place, bindingOf('things'));
    }
    const phaseIn = (place: LogicalClusterName) => api.get<APIBinding>(apiBindings, place, 'things')?.status?.phase;
    await eventually(() => expect(new Set(places.map(phaseIn))).toEqual(new Set(['Bound'])));
    expect(asked).toBe(1);
    expect(api.writes.filter((write) => write.includes(' apibindings '))).toHaveLength(100);
  });

  test('a definition that somebody else made is waited for, and no longer than it takes', async () => {
    const made = definitionIn('widgets');
    const metadata = { name: 'uid-of-v1.widgets.example.dev' };
    api.put(crds, bound, { ...made, metadata, status: { acceptedNames: { plural: '', kind: '' } } });
    api.put(apiBindings, consumer, bindingOf('things'));
    await eventually(() => expect(api.writes).toContain('patch logicalclusters consumer|cluster'));
    expect(binding('things')?.status).toBeUndefined();
    const start = clock.monotonic();
    api.put(crds, bound, { ...made, metadata });
    await eventually(() => expect(binding('things')?.status?.phase).toBe('Bound'));
    expect(clock.monotonic()).toBe(start);
  });

  test('a definition that is deleted is made again', async () => {
    api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    api.remove(crds, { cluster: bound, namespace: '', name: 'uid-of-v1.widgets.example.dev' });
    await settled();
    expect(api.get(crds, bound, 'uid-of-v1.widgets.example.dev')).toBeDefined();
    expect(conditionsOf('things')['BindingUpToDate']).toBe('True');
  });

  test('killed after any write, a binding is finished by the next controller', async () => {
    await controller.stop();
    for (let allowed = 0; ; allowed++) {
      api = new FakeApi();
      api.put(logicalClusters, consumer, {
        apiVersion: 'core.kcp.io/v1alpha1',
        kind: 'LogicalCluster',
        metadata: { name: 'cluster' },
      });
      for (const name of ['v1.widgets.example.dev', 'v1.gears.example.dev'])
        api.put(apiResourceSchemas, provider, schemaOf(name));
      api.put(apiExports, provider, exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'));
      api.put(apiBindings, consumer, bindingOf('things'));
      let left = allowed;
      api.onWrite = () => {
        if (left-- <= 0) throw new Error('killed');
      };
      const first = start();
      await settled();
      const wasKilled = left < 0;
      await first.stop();
      api.onWrite = () => undefined;
      controller = start();
      await settled();
      expect(binding('things')?.status).toMatchObject({
        phase: 'Bound',
        boundResources: [{ resource: 'widgets' }, { resource: 'gears' }],
      });
      expect(locks()).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
      if (!wasKilled) {
        expect(allowed).toBeGreaterThan(3);
        return;
      }
      await controller.stop();
    }
  });
});
