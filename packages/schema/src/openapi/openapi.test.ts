import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import type { PatchMeta } from '../compiled-schema.ts';
import { scale, status, widgets as plain } from '../../test/openapi-documents.ts';
import { componentName, type OpenAPIResource } from './openapi-resource.ts';
import { buildOpenAPIv2 } from './openapi-v2.ts';
import { buildOpenAPIv3 } from './openapi-v3.ts';

const resolve = (reference: string): JsonObject | undefined =>
  reference.endsWith('.ListMeta')
    ? {
        type: 'object',
        properties: { shard: { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo' } },
      }
    : { type: 'object' };
const definitions = { resolve, version: 'v1' };
const gv = { group: 'example.com', version: 'v1' };
const widgets: OpenAPIResource = {
  ...plain,
  ...gv,
  selectableFields: ['.spec.n'],
  subresources: [status, scale],
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['n', 'maybe'],
        properties: {
          n: { type: 'integer', description: 'a number' },
          port: { 'x-kubernetes-int-or-string': true },
          maybe: { type: 'string', nullable: true },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
          list: { type: 'array' },
          tpl: { type: 'array', items: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: {} } },
        },
      },
    },
  },
};

interface Operation {
  operationId: string;
  'x-kubernetes-action'?: string;
  'x-kubernetes-group-version-kind'?: JsonObject;
  parameters: { name: string }[];
  requestBody: { content: JsonObject };
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonObject & { properties: Record<string, JsonObject> }> };
}
const document = buildOpenAPIv3(gv, [widgets], definitions) as unknown as Document;

describe('a kind of Kubernetes that a definition brings back', () => {
  const meta = (fields: Record<string, PatchMeta> = {}, ...strategies: string[]): PatchMeta => ({
    strategies,
    mergeKey: strategies.includes('merge') ? 'name' : undefined,
    field: (name) => fields[name],
  });
  const parts = meta({ volumes: meta({ keys: meta({}, 'merge') }, 'merge', 'retainKeys'), labels: meta() });
  const { components, paths } = buildOpenAPIv3(
    gv,
    [
      {
        ...widgets,
        nativePatchMeta: meta({ spec: parts }),
        schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties: {
                volumes: {
                  type: 'array',
                  items: { type: 'object', properties: { keys: { type: 'array', items: { type: 'object' } } } },
                },
                labels: { type: 'object' },
                others: { type: 'array', items: { type: 'object' } },
              },
            },
          },
        },
      },
    ],
    definitions,
  ) as unknown as Document;

  test('says how patches merge its lists', () => {
    const { spec } = components.schemas['com.example.v1.Widget']?.properties ?? {};
    expect(spec?.['properties']).toEqual({
      volumes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            keys: {
              type: 'array',
              items: { type: 'object' },
              'x-kubernetes-patch-strategy': 'merge',
              'x-kubernetes-patch-merge-key': 'name',
            },
          },
        },
        'x-kubernetes-patch-strategy': 'merge,retainKeys',
        'x-kubernetes-patch-merge-key': 'name',
      },
      labels: { type: 'object' },
      others: { type: 'array', items: { type: 'object' } },
    });
  });

  test('takes strategic merge patches, and protobuf', () => {
    const { patch, get } = paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'] ?? {};
    expect(Object.keys(patch?.requestBody.content ?? {})).toContain('application/strategic-merge-patch+json');
    expect(JSON.stringify(get)).toContain('application/vnd.kubernetes.protobuf');
  });
});

describe('version 3', () => {
  test('a custom kind is described as its author wrote it, with the fields every object has', () => {
    const widget = document.components.schemas['com.example.v1.Widget'];
    expect(document.openapi).toBe('3.0.0');
    expect(widget?.['x-kubernetes-group-version-kind']).toEqual([
      { group: 'example.com', kind: 'Widget', version: 'v1' },
    ]);
    expect(widget?.['x-kubernetes-selectable-fields']).toEqual([{ fieldPath: 'spec.n' }]);
    expect(widget?.properties['spec']?.['properties']).toMatchObject({
      n: { type: 'integer', description: 'a number' },
    });
    expect(Object.keys(widget?.properties ?? {})).toEqual(['spec', 'apiVersion', 'kind', 'metadata']);
    expect(widget).toMatchObject({
      properties: {
        spec: { properties: { tpl: { items: { properties: { apiVersion: {}, kind: {}, metadata: {} } } } } },
      },
    });
    expect(widgets.schema['properties']).not.toHaveProperty('metadata');
  });

  test('lists and whatever is referred to are there', () => {
    expect(Object.keys(document.components.schemas)).toEqual([
      'com.example.v1.Widget',
      'com.example.v1.WidgetList',
      'io.k8s.api.autoscaling.v1.Scale',
      'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
      'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
      'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
      'io.k8s.apimachinery.pkg.apis.meta.v1.Patch',
      'io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo',
      'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
    ]);
  });

  test('a custom kind has the parameters and answers of the builder of definitions, not those of built-in kinds', () => {
    const at = (built: Document, path: string): Document['paths'][string] =>
      built.paths[`/apis/example.com/v1/namespaces/{namespace}/widgets${path}`] ?? {};
    const native = buildOpenAPIv3(gv, [{ ...widgets, origin: 'built-in' }], definitions) as unknown as Document;
    const names = (operation: { parameters?: readonly JsonObject[] } | undefined): unknown[] =>
      (operation?.parameters ?? []).map(({ name }) => name);
    expect(names(at(document, '')['delete'])).toContain('watch');
    expect(names(at(native, '')['delete'])).toContain('dryRun');
    expect(names(at(document, '')['get'])).toContain('shardSelector');
    expect(names(at(document, '/{name}')['get'])).toEqual(['resourceVersion']);
    expect(names(at(native, '/{name}')['get'])).toEqual([]);
    expect(names(at(document, '/{name}')['delete'])).toContain('ignoreStoreReadErrorWithClusterBreakingPotential');
    expect(Object.keys((at(document, '/{name}')['patch'] as unknown as JsonObject)['responses'] as JsonObject)).toEqual(
      ['200', '401'],
    );
    expect(at(document, '/{name}/scale')['put']?.['x-kubernetes-group-version-kind']).toMatchObject({ kind: 'Widget' });
    expect(Object.keys(native.paths)).toContain('/apis/example.com/v1/');
  });

  test('an embedded resource requires kind and apiVersion, and an int-or-string says so', () => {
    const spec = document.components.schemas['com.example.v1.Widget']?.properties['spec']?.['properties'];
    expect(spec).toMatchObject({
      tpl: { items: { required: ['kind', 'apiVersion'] } },
      port: { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true },
    });
  });

  test('every path has its operations', () => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => method !== 'parameters')
        .map(
          ([method, operation]) =>
            `${method} ${path} ${operation.operationId} ${operation['x-kubernetes-action'] ?? 'none'}`,
        ),
    );
    const base = '/apis/example.com/v1/namespaces/{namespace}/widgets';
    expect(operations).toEqual([
      `delete ${base} deleteExampleComV1CollectionNamespacedWidget deletecollection`,
      `get ${base} listExampleComV1NamespacedWidget list`,
      `post ${base} createExampleComV1NamespacedWidget post`,
      `delete ${base}/{name} deleteExampleComV1NamespacedWidget delete`,
      `get ${base}/{name} readExampleComV1NamespacedWidget get`,
      `patch ${base}/{name} patchExampleComV1NamespacedWidget patch`,
      `put ${base}/{name} replaceExampleComV1NamespacedWidget put`,
      `get ${base}/{name}/scale readExampleComV1NamespacedWidgetScale get`,
      `patch ${base}/{name}/scale patchExampleComV1NamespacedWidgetScale patch`,
      `put ${base}/{name}/scale replaceExampleComV1NamespacedWidgetScale put`,
      `get ${base}/{name}/status readExampleComV1NamespacedWidgetStatus get`,
      `patch ${base}/{name}/status patchExampleComV1NamespacedWidgetStatus patch`,
      `put ${base}/{name}/status replaceExampleComV1NamespacedWidgetStatus put`,
      'get /apis/example.com/v1/widgets listExampleComV1WidgetForAllNamespaces list',
    ]);
  });

  test('kubectl finds what it asks of a patch', () => {
    const patch = document.paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}']?.['patch'];
    expect(patch?.parameters.map(({ name }) => name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation', 'force']);
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'example.com', kind: 'Widget', version: 'v1' });
    const types = (origin: 'built-in' | 'custom'): string[] => {
      const built = buildOpenAPIv3(gv, [{ ...widgets, origin }], definitions) as unknown as Document;
      return Object.keys(
        built.paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}']?.['patch']?.requestBody.content ?? {},
      );
    };
    expect(types('custom')).not.toContain('application/strategic-merge-patch+json');
    expect(types('built-in')).toContain('application/strategic-merge-patch+json');
  });

  test('a string that looks like a reference changes nothing', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: { a: { type: 'string', default: { $ref: '#/components/schemas/no' } } },
    };
    const none = { resolve: (text: string) => (text.endsWith('/no') ? undefined : resolve(text)), version: 'v1' };
    expect(() => buildOpenAPIv3(gv, [{ ...widgets, schema }], none)).not.toThrow();
  });

  test('components are named after their group', () => {
    expect(componentName({ group: '', version: 'v1', kind: 'Secret' }, 'built-in')).toBe('io.k8s.api.core.v1.Secret');
    expect(componentName({ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'Role' }, 'built-in')).toBe(
      'io.k8s.api.rbac.v1.Role',
    );
    expect(componentName({ group: 'tenancy.kcp.io', version: 'v1alpha1', kind: 'Workspace' }, 'built-in')).toBe(
      'io.kcp.tenancy.v1alpha1.Workspace',
    );
    expect(componentName({ group: 'x.k8s.io', version: 'v1', kind: 'Foo' }, 'custom')).toBe('io.k8s.x.v1.Foo');
  });
});

test('version 2 leaves out what it cannot say', () => {
  const { swagger, definitions, paths } = buildOpenAPIv2([document as unknown as JsonObject], 'v1') as unknown as {
    swagger: string;
    definitions: Record<string, { properties: Record<string, { properties?: JsonObject } & JsonObject> }>;
    paths: Record<string, Record<string, JsonObject & { parameters: JsonObject[] }>>;
  };
  expect(swagger).toBe('2.0');
  const spec = definitions['com.example.v1.Widget']?.properties['spec']?.properties;
  expect(spec).toMatchObject({
    n: { type: 'integer', description: 'a number' },
    port: {},
    maybe: {},
  });
  expect(spec?.['port']).toEqual({ 'x-kubernetes-int-or-string': true });
  expect(spec?.['maybe']).toEqual({});
  expect(spec?.['free']).toEqual({ 'x-kubernetes-preserve-unknown-fields': true });
  expect(spec?.['list']).toEqual({});
  expect(definitions['com.example.v1.Widget']?.properties['spec']?.['required']).toEqual(['n']);
  expect(definitions['com.example.v1.Widget']?.properties['metadata']).toEqual({
    description: 'Standard metadata of the object.',
    $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  });
  const put = paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}']?.['put'];
  expect(put?.['consumes']).toEqual(['application/json', 'application/yaml']);
  expect(put?.['schemes']).toEqual(['https']);
  const { get, patch } = paths['/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'] ?? {};
  expect(get?.['consumes']).toEqual(['application/json', 'application/yaml']);
  expect(patch?.['consumes']).toEqual(
    ['json-patch+json', 'merge-patch+json', 'apply-patch+yaml'].map((type) => `application/${type}`),
  );
  expect(patch?.parameters.map(({ name }) => name)).toEqual([
    'body',
    'dryRun',
    'fieldManager',
    'fieldValidation',
    'force',
  ]);
  expect(put?.parameters.find(({ in: place }) => place === 'body')?.['schema']).toEqual({
    $ref: '#/definitions/com.example.v1.Widget',
  });
});

test('version 2 says of a kind that takes any field nothing but that', () => {
  const free: OpenAPIResource = {
    ...widgets,
    selectableFields: undefined,
    schema: { type: 'object', description: 'free', 'x-kubernetes-preserve-unknown-fields': true },
  };
  const { definitions: kinds } = buildOpenAPIv2([buildOpenAPIv3(gv, [free], definitions)], 'v1');
  expect((kinds as JsonObject)['com.example.v1.Widget']).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'example.com', kind: 'Widget', version: 'v1' }],
  });
});
