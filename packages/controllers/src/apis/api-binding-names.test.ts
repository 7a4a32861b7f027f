import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, resourceBindingsAnnotation } from '@multiplane/apis';
import { atRest } from '@multiplane/testing';
import { crds } from '../apiextensions/crd-names.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import {
  widgets,
  provider,
  consumer,
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

describe('names that are taken', () => {
  test('by another binding: exactly one of two at once gets the resource, the other when it goes', async () => {
    world.api.put(apiExports, provider, exportOf('rival', ['v1.widgets.example.dev'], 'rival-hash'));
    world.api.put(apiBindings, consumer, bindingOf('things'));
    world.api.put(apiBindings, consumer, bindingOf('rival'));
    await settled();
    const [winner, loser] =
      world.binding('things')?.status?.phase === 'Bound'
        ? (['things', 'rival'] as const)
        : (['rival', 'things'] as const);
    const message = `False NamingConflicts: Unable to bind APIs because they are bound by other APIBindings or CRDs: map[widgets.example.dev:{${winner} false}]`;
    expect(world.conditionsOf(loser)).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
    expect(world.binding(loser)?.status?.boundResources).toBeUndefined();
    world.api.remove(apiBindings, { cluster: consumer, namespace: '', name: winner });
    const reference = { cluster: consumer, namespace: '', name: 'cluster' };
    const annotations = { [resourceBindingsAnnotation]: '{}' };
    await world.api.client.patch(logicalClusters, reference, 'application/merge-patch+json', {
      metadata: { annotations },
    });
    await settled();
    expect(world.binding(loser)?.status?.phase).toBe('Bound');
  });

  test('by a definition of the logical cluster, until it goes', async () => {
    world.api.put(crds, consumer, definitionIn('widgets'));
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const message =
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "widgets.example.dev": spec.names.plural=widgets is forbidden';
    expect(world.conditionsOf('things')).toEqual({ BindingUpToDate: message, InitialBindingCompleted: message });
    world.api.remove(crds, { cluster: consumer, namespace: '', name: 'widgets.example.dev' });
    await settled();
    expect(world.binding('things')?.status?.phase).toBe('Bound');
  });

  test.each([
    ['singular', { ...namesOf('others'), singular: 'widget' }, 'singular=widget'],
    ['shortNames', namesOf('others', ['wd']), 'shortNames=[x wd]'],
    ['kind', { ...namesOf('others'), kind: 'Widget' }, 'kind=Widget'],
    ['listKind', { ...namesOf('others'), listKind: 'WidgetList' }, 'listKind=WidgetList'],
  ])('also the %s', async (_what, names, text) => {
    world.api.put(apiResourceSchemas, provider, schemaOf('v3.widgets.example.dev', namesOf('widgets', ['x', 'wd'])));
    world.api.put(apiExports, provider, exportOf('short', ['v3.widgets.example.dev'], 'short-hash'));
    world.api.put(crds, consumer, definitionIn('others', names));
    world.api.put(apiBindings, consumer, bindingOf('short'));
    await settled();
    expect(world.conditionsOf('short')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.${text} is forbidden`,
    );
  });

  test.each([
    ['secrets', namesOf('secrets'), 'secrets', 'plural=secrets'],
    ['vaults', { ...namesOf('vaults'), shortNames: ['secrets'] }, 'secrets', 'shortNames=[secrets]'],
    ['vaults', { ...namesOf('vaults'), kind: 'Secret' }, 'secrets', 'kind=Secret'],
  ])('by a kind that every logical cluster has: %s %j', async (plural, names, taken, text) => {
    const schema = schemaOf(`v1.${plural}.core`, names);
    world.api.put(apiResourceSchemas, provider, { ...schema, spec: { ...(schema['spec'] as JsonObject), group: '' } });
    const shadow = exportOf('shadow', [], 'shadow-hash');
    const resources = [{ name: plural, group: '', schema: `v1.${plural}.core` }];
    world.api.put(apiExports, provider, { ...shadow, spec: { resources } });
    world.api.put(apiBindings, consumer, bindingOf('shadow'));
    await settled();
    expect(world.conditionsOf('shadow')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with the built-in "${taken}": spec.names.${text} is forbidden`,
    );
    expect(world.binding('shadow')?.status?.boundResources).toBeUndefined();
  });

  test('by several are told with the first of them, whichever of its names it is', async () => {
    const uid = (text: string, names: ReturnType<typeof namesOf>): KubeObject => {
      const made = definitionIn(names.plural, names);
      return { ...made, metadata: { ...made.metadata, uid: text } };
    };
    world.api.put(crds, consumer, uid('2', { ...namesOf('others'), singular: 'widget' }));
    world.api.put(crds, consumer, uid('1', { ...namesOf('thirds'), listKind: 'WidgetList' }));
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.conditionsOf('things')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "thirds.example.dev": spec.names.listKind=WidgetList is forbidden',
    );
  });

  test('by a binding with another resource are told with its export', async () => {
    world.api.put(
      apiResourceSchemas,
      provider,
      schemaOf('v1.others.example.dev', { ...namesOf('others'), singular: 'widget' }),
    );
    world.api.put(apiExports, provider, exportOf('others', ['v1.others.example.dev'], 'others-hash'));
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.put(apiBindings, consumer, bindingOf('others'));
    await settled();
    expect(world.conditionsOf('others')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with APIBinding "things" bound to APIExport root:provider:things: spec.names.singular=widget is forbidden',
    );
  });
});

describe('what is exported changes', () => {
  test('to another schema: bound again, with the versions of both in storage', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const next = schemaOf('v2.widgets.example.dev');
    const spec = next['spec'] as JsonObject;
    spec['versions'] = [{ name: 'v2', served: true, storage: true, schema: { type: 'object' } }];
    world.api.put(apiResourceSchemas, provider, next);
    world.api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(world.binding('things')?.status?.boundResources).toMatchObject([
      { schema: { name: 'v2.widgets.example.dev' }, storageVersions: ['v1', 'v2'] },
    ]);
  });

  test('to a schema with another name that is taken: told, and bound to the old one on', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.put(crds, consumer, definitionIn('others', namesOf('others', ['wd'])));
    world.api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev', namesOf('widgets', ['wd'])));
    world.api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(world.conditionsOf('things')).toMatchObject({
      Ready: 'True',
      BindingUpToDate:
        'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.shortNames=[wd] is forbidden',
    });
    expect(world.binding('things')?.status?.boundResources).toMatchObject([
      { schema: { name: 'v1.widgets.example.dev' } },
    ]);
  });

  test('a removed resource is freed again, unlike the reference: not bound, not locked', async () => {
    world.api.put(apiExports, provider, exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'));
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(world.locks).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
    world.api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    expect(world.binding('things')?.status?.boundResources?.map(({ resource }) => resource)).toEqual(['gears']);
    expect(world.locks).toBe('{"gears.example.dev":{"n":"things"}}');
  });

  test('a removed resource that has objects is freed with the last of them', async () => {
    world.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    world.api.put(widgets, consumer, {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'n' },
    });
    world.api.put(apiExports, provider, exportOf('things', [], 'hash'));
    await settled();
    expect(world.binding('things')?.status?.boundResources).toHaveLength(1);
    expect(world.locks).toBe('{"widgets.example.dev":{"n":"things"}}');
    world.api.remove(widgets, { cluster: consumer, namespace: 'n', name: 'w' });
    await settled();
    expect(world.binding('things')?.status?.boundResources).toBeUndefined();
    expect(world.locks).toBe('{}');
  });
});
