import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { apiBindings, apiExports, apiResourceSchemas, resourceBindingsAnnotation } from '@multiplane/apis';
import { advanceUntilIdle } from '@multiplane/testing';
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
  BindingFixture,
} from '../../test/binding-fixture.ts';

let fixture: BindingFixture;
beforeEach(() => {
  fixture = new BindingFixture();
});
afterEach(() => fixture.controller.stop());
const settled = (): Promise<void> => advanceUntilIdle(fixture.clock, 1_000, [fixture.controller]);

describe('naming conflicts', () => {
  test('with a concurrent binding: one gets the resource, the other when the first is deleted', async () => {
    fixture.api.put(apiExports, provider, exportOf('rival', ['v1.widgets.example.dev'], 'rival-hash'));
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    fixture.api.put(apiBindings, consumer, bindingOf('rival'));
    await settled();
    const [winner, loser] =
      fixture.binding('things')?.status?.phase === 'Bound'
        ? (['things', 'rival'] as const)
        : (['rival', 'things'] as const);
    const message = `False NamingConflicts: Unable to bind APIs because they are bound by other APIBindings or CRDs: map[widgets.example.dev:{${winner} false}]`;
    expect(fixture.conditionsOf(loser)).toEqual({
      Ready: message,
      APIExportValid: 'True',
      BindingUpToDate: message,
      InitialBindingCompleted: message,
    });
    expect(fixture.binding(loser)?.status?.boundResources).toBeUndefined();
    fixture.api.remove(apiBindings, { cluster: consumer, namespace: '', name: winner });
    const reference = { cluster: consumer, namespace: '', name: 'cluster' };
    const annotations = { [resourceBindingsAnnotation]: '{}' };
    await fixture.api.client.patch(logicalClusters, reference, 'application/merge-patch+json', {
      metadata: { annotations },
    });
    await settled();
    expect(fixture.binding(loser)?.status?.phase).toBe('Bound');
  });

  test('with a CRD of the logical cluster last until it is deleted', async () => {
    fixture.api.put(crds, consumer, definitionIn('widgets'));
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const message =
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "widgets.example.dev": spec.names.plural=widgets is forbidden';
    expect(fixture.conditionsOf('things')).toEqual({ BindingUpToDate: message, InitialBindingCompleted: message });
    fixture.api.remove(crds, { cluster: consumer, namespace: '', name: 'widgets.example.dev' });
    await settled();
    expect(fixture.binding('things')?.status?.phase).toBe('Bound');
  });

  test.each([
    ['singular', { ...namesOf('others'), singular: 'widget' }, 'singular=widget'],
    ['shortNames', namesOf('others', ['wd']), 'shortNames=[x wd]'],
    ['kind', { ...namesOf('others'), kind: 'Widget' }, 'kind=Widget'],
    ['listKind', { ...namesOf('others'), listKind: 'WidgetList' }, 'listKind=WidgetList'],
  ])('include the %s', async (_what, names, text) => {
    fixture.api.put(apiResourceSchemas, provider, schemaOf('v3.widgets.example.dev', namesOf('widgets', ['x', 'wd'])));
    fixture.api.put(apiExports, provider, exportOf('short', ['v3.widgets.example.dev'], 'short-hash'));
    fixture.api.put(crds, consumer, definitionIn('others', names));
    fixture.api.put(apiBindings, consumer, bindingOf('short'));
    await settled();
    expect(fixture.conditionsOf('short')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.${text} is forbidden`,
    );
  });

  test.each([
    ['secrets', namesOf('secrets'), 'secrets', 'plural=secrets'],
    ['vaults', { ...namesOf('vaults'), shortNames: ['secrets'] }, 'secrets', 'shortNames=[secrets]'],
    ['vaults', { ...namesOf('vaults'), kind: 'Secret' }, 'secrets', 'kind=Secret'],
  ])('with a built-in kind: %s %j', async (plural, names, taken, text) => {
    const schema = schemaOf(`v1.${plural}.core`, names);
    fixture.api.put(apiResourceSchemas, provider, {
      ...schema,
      spec: { ...(schema['spec'] as JsonObject), group: '' },
    });
    const shadow = exportOf('shadow', [], 'shadow-hash');
    const resources = [{ name: plural, group: '', schema: `v1.${plural}.core` }];
    fixture.api.put(apiExports, provider, { ...shadow, spec: { resources } });
    fixture.api.put(apiBindings, consumer, bindingOf('shadow'));
    await settled();
    expect(fixture.conditionsOf('shadow')['BindingUpToDate']).toBe(
      `False NamingConflicts: Unable to bind APIs: naming conflict with the built-in "${taken}": spec.names.${text} is forbidden`,
    );
    expect(fixture.binding('shadow')?.status?.boundResources).toBeUndefined();
  });

  test('with several CRDs are reported for the first by uid', async () => {
    const uid = (text: string, names: ReturnType<typeof namesOf>): KubeObject => {
      const made = definitionIn(names.plural, names);
      return { ...made, metadata: { ...made.metadata, uid: text } };
    };
    fixture.api.put(crds, consumer, uid('2', { ...namesOf('others'), singular: 'widget' }));
    fixture.api.put(crds, consumer, uid('1', { ...namesOf('thirds'), listKind: 'WidgetList' }));
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.conditionsOf('things')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "thirds.example.dev": spec.names.listKind=WidgetList is forbidden',
    );
  });

  test('with another binding are reported with its export', async () => {
    fixture.api.put(
      apiResourceSchemas,
      provider,
      schemaOf('v1.others.example.dev', { ...namesOf('others'), singular: 'widget' }),
    );
    fixture.api.put(apiExports, provider, exportOf('others', ['v1.others.example.dev'], 'others-hash'));
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.put(apiBindings, consumer, bindingOf('others'));
    await settled();
    expect(fixture.conditionsOf('others')['BindingUpToDate']).toBe(
      'False NamingConflicts: Unable to bind APIs: naming conflict with APIBinding "things" bound to APIExport root:provider:things: spec.names.singular=widget is forbidden',
    );
  });
});

describe('a changed export', () => {
  test('with another schema is bound again, with the storage versions of both', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    const next = schemaOf('v2.widgets.example.dev');
    const spec = next['spec'] as JsonObject;
    spec['versions'] = [{ name: 'v2', served: true, storage: true, schema: { type: 'object' } }];
    fixture.api.put(apiResourceSchemas, provider, next);
    fixture.api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(fixture.binding('things')?.status?.boundResources).toMatchObject([
      { schema: { name: 'v2.widgets.example.dev' }, storageVersions: ['v1', 'v2'] },
    ]);
  });

  test('with a schema whose new name is taken stays bound to the old schema', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.put(crds, consumer, definitionIn('others', namesOf('others', ['wd'])));
    fixture.api.put(apiResourceSchemas, provider, schemaOf('v2.widgets.example.dev', namesOf('widgets', ['wd'])));
    fixture.api.put(apiExports, provider, exportOf('things', ['v2.widgets.example.dev'], 'hash'));
    await settled();
    expect(fixture.conditionsOf('things')).toMatchObject({
      Ready: 'True',
      BindingUpToDate:
        'False NamingConflicts: Unable to bind APIs: naming conflict with CustomResourceDefinition "others.example.dev": spec.names.shortNames=[wd] is forbidden',
    });
    expect(fixture.binding('things')?.status?.boundResources).toMatchObject([
      { schema: { name: 'v1.widgets.example.dev' } },
    ]);
  });

  test('unbinds and unlocks a dropped resource, unlike kcp', async () => {
    fixture.api.put(
      apiExports,
      provider,
      exportOf('things', ['v1.widgets.example.dev', 'v1.gears.example.dev'], 'hash'),
    );
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    expect(fixture.locks).toBe('{"gears.example.dev":{"n":"things"},"widgets.example.dev":{"n":"things"}}');
    fixture.api.put(apiExports, provider, exportOf('things', ['v1.gears.example.dev'], 'hash'));
    await settled();
    expect(fixture.binding('things')?.status?.boundResources?.map(({ resource }) => resource)).toEqual(['gears']);
    expect(fixture.locks).toBe('{"gears.example.dev":{"n":"things"}}');
  });

  test('unbinds a dropped resource with objects when the last object is deleted', async () => {
    fixture.api.put(apiBindings, consumer, bindingOf('things'));
    await settled();
    fixture.api.put(widgets, consumer, {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'n' },
    });
    fixture.api.put(apiExports, provider, exportOf('things', [], 'hash'));
    await settled();
    expect(fixture.binding('things')?.status?.boundResources).toHaveLength(1);
    expect(fixture.locks).toBe('{"widgets.example.dev":{"n":"things"}}');
    fixture.api.remove(widgets, { cluster: consumer, namespace: 'n', name: 'w' });
    await settled();
    expect(fixture.binding('things')?.status?.boundResources).toBeUndefined();
    expect(fixture.locks).toBe('{}');
  });
});
