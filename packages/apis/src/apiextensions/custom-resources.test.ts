import { describe, expect, test } from '@jest/globals';
import {
  asJson,
  deepCopy,
  fieldErrorText,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { SchemaCache } from '@multiplane/schema';
import type { ResourceDefinition, StrategyContext } from '../resource-definition.ts';
import { customResourceDefinitions } from './custom-resource-definition.ts';
import { CustomResources } from './custom-resources.ts';
import { unreadablePaths } from './unreadable-paths.ts';
import { foundErrors } from '../../test/found-errors.ts';

const context: StrategyContext = {
  user: { name: 'alice', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: 'ns',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
};

const schemaOf = (fields: JsonObject): JsonObject => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer', minimum: 0 }, ...fields } },
      status: { type: 'object', properties: { ready: { type: 'boolean' } } },
    },
  },
});

const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'] };
const version = (name: string, more: JsonObject = {}, fields: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: false,
  schema: schemaOf(fields),
  ...more,
});
const crdOf = (versions: JsonObject[], more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.g.example.com' },
  spec: { group: 'g.example.com', scope: 'Namespaced', names, versions },
  status: { acceptedNames: names },
  ...more,
});

const served = (crd: KubeObject, schemas?: SchemaCache): ResourceDefinition[] =>
  new CustomResources({ schemas }).definitionsOf(crd, new AbortController().signal);
const only = (crd: KubeObject): ResourceDefinition => served(crd)[0]!;

const widget: KubeObject = {
  apiVersion: 'g.example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'ns' },
  spec: { size: 1 },
  status: { ready: true },
};
const changed = (change: (object: KubeObject) => void): KubeObject => {
  const object = deepCopy<JsonObject>(asJson(widget)) as unknown as KubeObject;
  change(object);
  return object;
};

describe('versions', () => {
  const crd = crdOf([version('v1', { storage: true }), version('v2'), version('v3', { served: false })]);

  test('those that are served are served, and all lie in one place', () => {
    const definitions = served(crd);
    expect(definitions.map((definition) => definition.version)).toEqual(['v1', 'v2']);
    const storage = {
      group: 'g.example.com',
      version: 'v1',
      kind: 'Widget',
      prefix: '/registry/g.example.com/widgets/customresources/',
    };
    expect(definitions.map((definition) => definition.storage)).toEqual([storage, storage]);
  });

  test('with equal schemas share one compiled schema', () => {
    const [first, second] = served(crd);
    expect(second?.schema).toBe(first?.schema);
  });

  test('what the stored version does not know is lost in storage', () => {
    const richer = crdOf([version('v1', { storage: true }), version('v2', {}, { color: { type: 'string' } })]);
    const object = changed((copy) => void (copy['spec'] = { size: 1, color: 'red' }));
    served(richer)[1]?.converter?.toStorage(object);
    expect(object['spec']).toEqual({ size: 1 });
  });

  test('that are deprecated say so, and which to use instead', () => {
    const own = { deprecated: true, deprecationWarning: 'no more' };
    const crdWithOld = crdOf([
      version('v1beta1', { deprecated: true }),
      version('v1beta2', own),
      version('v1', { storage: true }),
      version('v2alpha1'),
    ]);
    expect(served(crdWithOld).map(({ deprecationWarning }) => deprecationWarning)).toEqual([
      'g.example.com/v1beta1 Widget is deprecated; use g.example.com/v1 Widget',
      'no more',
      undefined,
      undefined,
    ]);
    expect(only(crdOf([version('v1', { storage: true, deprecated: true })])).deprecationWarning).toBe(
      'g.example.com/v1 Widget is deprecated',
    );
  });
});

test('a definition that is being deleted offers no new objects', () => {
  const crd = crdOf([version('v1', { storage: true })], {
    metadata: { name: 'x', deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  const { terminating, verbs } = only(crd);
  expect(terminating).toBe(true);
  expect(verbs).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch']);
});

describe('an object', () => {
  const { strategy, subresources } = only(crdOf([version('v1', { storage: true, subresources: { status: {} } })]));

  test('begins without a status and keeps its own in updates', () => {
    const object = changed(() => undefined);
    strategy.prepareForCreate(context, object);
    expect(object['status']).toBeUndefined();
    const update = changed((copy) => void (copy['status'] = { ready: false }));
    strategy.prepareForUpdate(context, update, widget);
    expect(update['status']).toEqual({ ready: true });
  });

  test('has to fit the schema', () => {
    const object = changed((copy) => void (copy['spec'] = { size: -1 }));
    expect(foundErrors(strategy.validate(context, object)).map(fieldErrorText)).toEqual([
      'spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0',
    ]);
  });

  test('takes from the status endpoint the status alone', () => {
    const status = subresources['status'];
    if (status?.type !== 'object') throw new Error('no status');
    const update = changed((copy) => {
      copy['spec'] = { size: -1 };
      copy['status'] = { ready: false };
      copy.metadata.labels = { a: 'b' };
    });
    status.strategy.prepareForUpdate(context, update, widget);
    expect(update).toEqual({ ...widget, status: { ready: false } });
  });

  test('warns about finalizers without a domain', () => {
    const object = changed((copy) => void (copy.metadata.finalizers = ['mine', 'example.com/mine', 'example.com']));
    expect(strategy.warnings(context, object, undefined)).toEqual([
      'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
      'metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers',
    ]);
  });

  test('without a status subresource writes its status like everything else', () => {
    const plain = only(crdOf([version('v1', { storage: true })])).strategy;
    const update = changed((copy) => void (copy['status'] = { ready: false }));
    plain.prepareForUpdate(context, update, widget);
    expect(update['status']).toEqual({ ready: false });
  });
});

test('scale names its paths without the leading dot', () => {
  const scale = {
    specReplicasPath: '.spec.size',
    statusReplicasPath: '.status.size',
    labelSelectorPath: '.status.selector',
  };
  expect(only(crdOf([version('v1', { storage: true, subresources: { scale } })])).subresources['scale']).toEqual({
    type: 'scale',
    verbs: ['get', 'patch', 'update'],
    specReplicasPath: 'spec.size',
    statusReplicasPath: 'status.size',
    labelSelectorPath: 'status.selector',
  });
});

test('selectable fields are texts; what is absent is empty', () => {
  const selectableFields = [{ jsonPath: '.spec.size' }, { jsonPath: '.status.ready' }, { jsonPath: '.spec.none' }];
  const { fieldSelectors } = only(crdOf([version('v1', { storage: true, selectableFields })]));
  expect(Object.entries(fieldSelectors).map(([name, valueOf]) => [name, valueOf(widget)])).toEqual([
    ['spec.size', '1'],
    ['status.ready', 'true'],
    ['spec.none', ''],
  ]);
});

describe('the table', () => {
  const now = new Date('2026-01-01T00:05:00Z');
  const cells = (columns: JsonObject[], object: JsonObject): unknown[] => {
    const { tableConvertor } = only(crdOf([version('v1', { storage: true, additionalPrinterColumns: columns })]));
    return tableConvertor.cells({ ...widget, ...object }, now).slice(1);
  };

  test('shows the age when nothing else is wanted', () => {
    const { tableConvertor } = only(crdOf([version('v1', { storage: true })]));
    expect(tableConvertor.columns.map(({ name, type }) => [name, type])).toEqual([
      ['Name', 'string'],
      ['Age', 'date'],
    ]);
  });

  test.each([
    ['string', { a: ['x', 'y'] }, '["x","y"]'],
    ['string', { a: 'text' }, 'text'],
    ['integer', { a: 1.9 }, 1],
    ['integer', { a: 'x' }, null],
    ['boolean', { a: true }, true],
    ['number', { a: 1.5 }, 1.5],
    ['date', { a: '2026-01-01T00:00:00Z' }, '5m'],
    ['date', { a: 'x' }, '<invalid>'],
    ['date', { a: '2026-01-01T00:05:01Z' }, '0s'],
    ['date', { a: '2026-02-01T00:00:00Z' }, '<invalid>'],
    ['date', { a: '0001-01-01T00:00:00Z' }, '<unknown>'],
    ['date', { a: '' }, '<unknown>'],
    ['date', { a: 1 }, null],
    ['string', {}, null],
  ])('prints a %s of %j as %j', (type, spec, cell) => {
    expect(cells([{ name: 'A', type, jsonPath: '.spec.a' }], { spec })).toEqual([cell]);
  });

  test('leaves out the columns whose path cannot be parsed, and only them', () => {
    const columns = [
      '.spec.a',
      '.spec.list[',
      '.spec.b[].c',
      '.spec.b[?(@.c=="x" && @.d)]',
      '..',
      '.spec.b[0:1:0]',
    ].map((jsonPath, index): JsonObject => ({ name: `C${index}`, type: 'string', jsonPath }));
    const { tableConvertor } = only(crdOf([version('v1', { storage: true, additionalPrinterColumns: columns })]));
    expect(tableConvertor.columns.map(({ name }) => name)).toEqual(['Name', 'C0', 'C2', 'C4', 'C5']);
    const spec = { a: 'A', b: [{ c: 'first' }, { c: 'second' }] };
    const row = tableConvertor.cells({ ...widget, spec }, now);
    expect(row).toEqual(['w', 'A', 'first', expect.stringContaining('"kind":"Widget"'), null]);
    const broken = [{ name: 'C', type: 'string', jsonPath: '.a[' }];
    const without = only(crdOf([version('v1', { storage: true, additionalPrinterColumns: broken })])).tableConvertor;
    expect(without.columns.map(({ name }) => name)).toEqual(['Name']);
  });

  test('costs no more for thousands of recursive columns than for a few', () => {
    const visits = 500_000;
    const list = Array.from({ length: 1000 }, (_, index) => ({ a: { b: index } }));
    const columns = Array.from({ length: 1000 }, (_, index): JsonObject => ({
      name: `C${index}`,
      type: 'string',
      jsonPath: '..b',
    }));
    const row = cells(columns, { spec: { list } });
    const found = row.filter((value) => value !== null);
    expect(found.length).toBeGreaterThan(10);
    expect(found.length).toBeLessThan(visits / 1000);
  });
});

describe('paths that cannot be parsed', () => {
  const columns = [
    { name: 'Good', type: 'string', jsonPath: '.spec.a' },
    { name: 'Bad', type: 'string', jsonPath: '.spec.list[' },
  ];

  test('are named to the author of a definition, once', () => {
    const crd = crdOf([version('v1', { storage: true, additionalPrinterColumns: columns })]);
    const { strategy } = customResourceDefinitions();
    const text =
      'version "v1": column "Bad" is left out: unrecognized column definition ".spec.list[": unterminated array';
    expect(strategy.warnings(context, crd, undefined)).toEqual([text]);
    expect(strategy.warnings(context, crd, crd)).toEqual([]);
  });

  test('of thousands of columns some are named', () => {
    const many = Array.from({ length: 2000 }, (_, index) => ({ name: `C${index}`, type: 'string', jsonPath: '.[' }));
    const problems = unreadablePaths(crdOf([version('v1', { storage: true, additionalPrinterColumns: many })]));
    expect(problems).toHaveLength(9);
    expect(problems.at(-1)).toBe('1992 more JSONPaths cannot be parsed');
  });

  test('make no selectable field', () => {
    const selectableFields = [{ jsonPath: '.spec.size' }, { jsonPath: '.spec.a{b' }];
    const crd = crdOf([version('v1', { storage: true, selectableFields })]);
    expect(Object.keys(only(crd).fieldSelectors)).toEqual(expect.arrayContaining(['spec.size']));
    expect(Object.keys(only(crd).fieldSelectors)).not.toContain('spec.a{b');
    expect(unreadablePaths(crd)).toEqual([
      'version "v1": selectable field ".spec.a{b" is left out: unrecognized character in action: "{"',
    ]);
  });
});

test('ten thousand workspaces with one definition hold one compiled schema', () => {
  const schemas = new SchemaCache({ origin: 'custom' });
  const copies = [1, 2, 3].map(() => served(crdOf([version('v1', { storage: true })]), schemas)[0]?.schema);
  expect(new Set(copies).size).toBe(1);
  expect(schemas.size).toBe(1);
});
