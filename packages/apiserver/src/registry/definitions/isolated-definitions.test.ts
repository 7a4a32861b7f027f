import { afterEach, expect, test } from '@jest/globals';
import type { DeepReadonly, JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CustomResources, definingObject, resolveComponent, type ResourceDefinition } from '@multiplane/apis';
import { ObjectFaults } from '@multiplane/component-base';
import { definitionOf } from '../../../test/definitions.ts';
import { Pipeline } from '../../../test/pipeline.ts';
import { DocumentBuilder } from '../../openapi/document-builder.ts';
import { isolatedDefinitions, type IsolatedDefinitionsModules } from './isolated-definitions.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const pathOf = (plural: string): string => `/apis/example.com/v1/namespaces/default/${plural}`;
const object = (kind: string): JsonObject => ({ apiVersion: 'example.com/v1', kind, metadata: { name: 'a' } });

let on: Pipeline | undefined;
afterEach(async () => {
  await on?.close();
});

/** Definitions of the kind Broken cannot be served once `isBroken`. */
function breakable(): { isBroken: boolean; readonly custom: IsolatedDefinitionsModules['custom'] } {
  const custom = new CustomResources();
  const state = {
    isBroken: false,
    custom: {
      definitionsOf: (crd: DeepReadonly<KubeObject>, retired: AbortSignal, identity?: string) => {
        if (state.isBroken && crd.metadata.name === 'broken.example.com') throw new Error('cannot be served');
        return custom.definitionsOf(crd, retired, identity);
      },
      readOnlyDefinitionsOf: custom.readOnlyDefinitionsOf.bind(custom),
    },
  };
  return state;
}

test('a definition that cannot be served only affects its own kind, whose objects can be read and deleted', async () => {
  const faults = new ObjectFaults({});
  const state = breakable();
  on = await Pipeline.open({ definitionsOf: isolatedDefinitions({ custom: state.custom, faults }) });
  await on.serve(definitionOf('example.com', 'v1', 'broken', 'Broken'));
  await on.must(201, 'POST', pathOf('broken'), object('Broken'));
  state.isBroken = true;
  const mergePatch = { 'content-type': 'application/merge-patch+json' };
  const names = { spec: { names: { shortNames: ['br'] } } };
  await on.must(200, 'PATCH', `${definitions}/broken.example.com`, names, mergePatch);
  await on.serve(definitionOf('example.com', 'v1', 'hats', 'Hat'));

  await on.must(201, 'POST', pathOf('hats'), object('Hat'));
  expect(
    on.resolver
      .list(on.cluster)
      .filter(({ group }) => group === 'example.com')
      .map(({ resource }) => resource),
  ).toEqual(['broken', 'hats']);
  expect(on.resolver.discoveryHash(on.cluster)).not.toBe('');
  const list = await on.must(200, 'GET', pathOf('broken'));
  expect(list['items']).toEqual([expect.objectContaining({ kind: 'Broken' })]);
  expect((await on.ask('POST', pathOf('broken'), { ...object('Broken'), metadata: { name: 'b' } })).status).toBe(405);
  await on.must(200, 'DELETE', `${pathOf('broken')}/a`);
  const crd = (await on.must(200, 'GET', `${definitions}/broken.example.com`)) as unknown as KubeObject;
  expect(faults.of(definingObject(crd))).toEqual(['cannot be served']);
});

test('a definition of which nothing can be served is left out', () => {
  const custom = new CustomResources();
  const fail = (): never => {
    throw new Error('no');
  };
  const faults = new ObjectFaults({});
  const crd = definitionOf('example.com', 'v1', 'broken', 'Broken');
  const of = isolatedDefinitions({ custom: { definitionsOf: fail, readOnlyDefinitionsOf: fail }, faults });
  expect(of(crd, new AbortController().signal)).toEqual([]);
  expect(faults.of(definingObject(crd))).toEqual(['no']);
  expect(isolatedDefinitions({ custom, faults })(crd, new AbortController().signal)).toHaveLength(1);
});

test('OpenAPI leaves out a definition whose part cannot be built, in all formats', async () => {
  const faults = new ObjectFaults({});
  const custom = new CustomResources();
  const of = (plural: string, kind: string): ResourceDefinition[] =>
    custom.definitionsOf(definitionOf('example.com', 'v1', plural, kind), new AbortController().signal);
  const broken = of('broken', 'Broken').map((definition): ResourceDefinition => ({
    ...definition,
    strategy: new Proxy(definition.strategy, {
      get: () => {
        throw new Error('no strategy');
      },
    }),
  }));
  const all = [...broken, ...of('hats', 'Hat')];
  const builder = new DocumentBuilder({}, { definitions: { resolve: resolveComponent, version: 'v1' }, faults });
  for (const bytes of [
    await builder.v3(all),
    await builder.v2(all, []),
    await builder.v3Protobuf(all),
    await builder.v2Protobuf(all, []),
  ]) {
    expect(bytes.includes('/apis/example.com/v1/namespaces/{namespace}/hats')).toBe(true);
    expect(bytes.includes('/broken')).toBe(false);
  }
  expect(faults.of(all[0]?.definedBy as NonNullable<ResourceDefinition['definedBy']>)).toEqual([
    'failed to build OpenAPI: no strategy',
  ]);
});
