import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseYaml, type JsonObject } from '@multiplane/apimachinery';
import { TempDir } from '@multiplane/testing';
import { definitionTypes } from './definition-types.ts';

const repository = join(import.meta.dirname, '..', '..', '..', '..');
/** The module with KubeObject that the generated ones import here. */
const objects = join(repository, 'packages', 'apimachinery', 'src', 'index.ts');

let folder: TempDir;
beforeAll(async () => {
  folder = await TempDir.create('generate-types');
});
afterAll(() => folder.remove());

/** What the compiler prints about modules, as strict as a project can be. */
function problemsOf(modules: Readonly<Record<string, string>>): string {
  for (const [name, module] of Object.entries(modules)) writeFileSync(folder.join(`${name}.ts`), module);
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noUnusedLocals'];
  const kind = ['--target', 'es2024', '--module', 'nodenext', '--noEmit', '--skipLibCheck', '--types', 'node'];
  const here = ['--allowImportingTsExtensions', '--customConditions', 'multiplane-source', '--ignoreConfig'];
  const roots = ['--typeRoots', join(repository, 'node_modules', '@types')];
  try {
    return execFileSync(
      process.execPath,
      [
        join(repository, 'node_modules', 'typescript', 'bin', 'tsc'),
        ...strict,
        ...kind,
        ...here,
        ...roots,
        ...Object.keys(modules).map((name) => folder.join(`${name}.ts`)),
      ],
      { cwd: folder.path, encoding: 'utf8' },
    );
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}

const definition = (
  schema: JsonObject,
  {
    kind = 'Cowboy',
    group = 'wildwest.dev',
    versions = {},
  }: { kind?: string; group?: string; versions?: JsonObject } = {},
): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: `${kind.toLowerCase()}s`, kind },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
      ...Object.entries(versions).map(([name, one]) => ({
        name,
        served: true,
        storage: false,
        ...(one as JsonObject),
      })),
    ],
  },
});
const withSpec = (properties: JsonObject, more: JsonObject = {}): JsonObject =>
  definition({ type: 'object', properties: { spec: { type: 'object', properties, ...more } } });
const typesOf = (...documents: JsonObject[]): string => definitionTypes(documents, objects);

/** The expression that becomes of the schema of one field. */
function typeOfField(schema: JsonObject): string {
  const [, type] = /^ {2}field\?: (.*);$/m.exec(typesOf(withSpec({ field: schema }))) ?? [];
  return type ?? '';
}

test.each<[JsonObject, string]>([
  [{ type: 'string' }, 'string'],
  [{ type: 'string', format: 'date-time' }, 'string'],
  [{ type: 'integer', format: 'int64' }, 'number'],
  [{ type: 'number', nullable: true }, 'number | null'],
  [{ type: 'boolean' }, 'boolean'],
  [{ type: 'string', enum: ['good', 'b"ad'] }, '"good" | "b\\"ad"'],
  [{ type: 'string', nullable: true, enum: [null, 'good'] }, '"good" | null'],
  [{ type: 'string', allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }, '"b"'],
  [{ type: 'string', anyOf: [{ enum: ['a'] }, { enum: ['b'] }] }, '"a" | "b"'],
  [{ type: 'string', anyOf: [{ enum: ['a'] }, { pattern: '^b' }] }, 'string'],
  [{ type: 'integer', enum: [1, 2] }, '1 | 2'],
  [{ 'x-kubernetes-int-or-string': true }, 'number | string'],
  [{ anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }, 'number | string'],
  [{ type: 'array', items: { type: 'string' } }, 'string[]'],
  [{ type: 'array', items: { 'x-kubernetes-int-or-string': true } }, '(number | string)[]'],
  [{ type: 'array', items: { type: 'array', items: { type: 'string', nullable: true } } }, '(string | null)[][]'],
  [{ type: 'array' }, 'unknown[]'],
  [{ type: 'object' }, '{ [key: string]: never }'],
  [{ type: 'object', additionalProperties: { type: 'integer' } }, '{ [key: string]: number }'],
  [{ type: 'object', additionalProperties: true }, '{ [key: string]: unknown }'],
  [{ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, '{ [key: string]: unknown }'],
  [{ 'x-kubernetes-preserve-unknown-fields': true }, 'unknown'],
  [{ 'x-kubernetes-preserve-unknown-fields': true, nullable: true }, 'unknown'],
  [{ type: 'object', enum: [{ a: [1] }, {}] }, '{ a: [1] } | { [key: string]: never }'],
  [{ type: 'object', properties: { deep: { type: 'string' } } }, 'CowboySpecField'],
  [{ type: 'array', items: { type: 'object', properties: { deep: {} } } }, 'CowboySpecFieldItem[]'],
])('%j is %s', (schema, expected) => {
  expect(typeOfField(schema)).toBe(expected);
});

test('types of a definition', () => {
  const module = definitionTypes(
    [
      definition({
        description: 'Rides.',
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            description: 'What is wanted.\nIn two lines. */ alert()',
            required: ['intent', 'no-such-field'],
            properties: {
              intent: { type: 'string', default: 'good' },
              'x-field.name': { type: 'string', description: 'Deprecated: use intent.' },
              template: {
                type: 'object',
                'x-kubernetes-embedded-resource': true,
                'x-kubernetes-preserve-unknown-fields': true,
              },
            },
          },
        },
      }),
    ],
    '@multiplane/provider',
  );
  expect(module).toBe(`// Generated by \`multiplane generate types\`. Do not edit: generate it again.
import type { KubeObject } from "@multiplane/provider";

export type CowboySpecTemplate = {
  apiVersion: string;
  kind: string;
  metadata: KubeObject["metadata"];
  [field: string]: unknown;
};

/**
 * What is wanted.
 * In two lines. *\\/ alert()
 */
export type CowboySpec = {
  /** @default "good" */
  intent: string;
  /** @deprecated use intent. */
  "x-field.name"?: string;
  template?: CowboySpecTemplate;
};

/** Rides. */
export type Cowboy = {
  apiVersion: "wildwest.dev/v1";
  kind: "Cowboy";
  metadata: KubeObject["metadata"];
  /**
   * What is wanted.
   * In two lines. *\\/ alert()
   */
  spec?: CowboySpec;
};
`);
});

test('served versions, kinds of the same name and names of fields get names of their own', () => {
  const empty: JsonObject = { type: 'object' };
  const exported = (module: string): string[] =>
    [...module.matchAll(/^export type (\w+)/gm)].map(([, name = '']) => name);
  const old = { schema: { openAPIV3Schema: empty }, deprecated: true, deprecationWarning: 'use v1' };
  const module = typesOf(
    definition(empty, { versions: { v1beta1: old, v1alpha1: { ...old, served: false } } }),
    definition(empty, { kind: 'KubeObject' }),
    { kind: 'List', items: [definition(empty, { kind: 'Same' }), definition(empty, { kind: 'Same', group: 'b.io' })] },
  );
  expect(exported(module)).toEqual(['Cowboy', 'CowboyV1beta1', 'KubeObject2', 'WildwestDevSame', 'BIoSame']);
  expect(module).toContain('/** @deprecated use v1 */\nexport type CowboyV1beta1 ');
  const object: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
  const spec = { type: 'object', properties: { 'a-b': object, 'a.b': object, aB: object } };
  expect(exported(typesOf(definition({ type: 'object', properties: { spec } })))).toEqual([
    'CowboySpecAB',
    'CowboySpecAB2',
    'CowboySpecAB3',
    'CowboySpec',
    'Cowboy',
  ]);
});

test('other objects are ignored, and are not enough', () => {
  expect(() => typesOf({ apiVersion: 'v1', kind: 'ConfigMap' })).toThrow(
    'no CustomResourceDefinition and no APIResourceSchema was found',
  );
  expect(() => typesOf({ kind: 'APIResourceSchema', metadata: { name: 'x' }, spec: {} })).toThrow(
    'APIResourceSchema "x" has no spec.names.kind',
  );
});

/** Words that are something else in TypeScript, as fields and as kinds. */
const words = [
  'class',
  'default',
  'new',
  'get',
  'set',
  'readonly',
  'static',
  'async',
  'await',
  'enum',
  'null',
  'type',
  'this',
  'constructor',
  'prototype',
  '__proto__',
  'toString',
  'any',
  'string',
  'object',
  'unknown',
  '$ref',
  '1st',
  'ä',
  '',
];

describe('compiles strictly', () => {
  test('reserved words', () => {
    const properties = Object.fromEntries(
      words.map((word) => [word, { type: 'object', properties: { [word]: { type: 'string' } } }]),
    );
    const kinds = ['Record', 'Array', 'String', 'Object', 'Promise', 'Partial', 'class', 'my-kind', 'interface'];
    expect(
      problemsOf({
        words: typesOf(
          withSpec(properties),
          ...kinds.map((kind) => definition({ type: 'object', properties }, { kind })),
        ),
      }),
    ).toBe('');
  });

  test('what is right is accepted, and what is wrong is not', () => {
    expect(
      problemsOf({
        cowboys: typesOf(
          withSpec(
            {
              intent: { type: 'string', enum: ['good', 'bad'] },
              port: { 'x-kubernetes-int-or-string': true },
              horses: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
              labels: { type: 'object', additionalProperties: { type: 'string' } },
              free: {
                type: 'object',
                properties: { known: { type: 'integer' } },
                'x-kubernetes-preserve-unknown-fields': true,
              },
              until: { type: 'string', nullable: true },
            },
            { required: ['intent'] },
          ),
        ),
        usage: `import type { Cowboy } from './cowboys.ts';
import type { KubeObject } from ${JSON.stringify(objects)};
const common = { apiVersion: 'wildwest.dev/v1', kind: 'Cowboy', metadata: { name: 'woody' } } as const;
export const right: Cowboy = {
  ...common,
  spec: { intent: 'good', port: 'http', horses: [{ name: 'b' }], labels: { a: 'b' }, free: { known: 1, other: [] }, until: null },
};
export const object: KubeObject = right;
// @ts-expect-error -- not a value of the enum
export const intent: Cowboy = { ...common, spec: { intent: 'ugly' } };
// @ts-expect-error -- intent is required
export const required: Cowboy = { ...common, spec: {} };
// @ts-expect-error -- no such field
export const field: Cowboy = { ...common, spec: { intent: 'good', horse: 1 } };
// @ts-expect-error -- a known field keeps its type
export const known: Cowboy = { ...common, spec: { intent: 'good', free: { known: 'x' } } };
// @ts-expect-error -- not nullable
export const nullable: Cowboy = { ...common, spec: { intent: 'good', port: null } };
// @ts-expect-error -- another kind
export const kind: Cowboy = { ...common, kind: 'Horse' };
`,
      }),
    ).toBe('');
  });

  test('definitions of cert-manager, Crossplane and the Gateway API, together', () => {
    const definitions = join(repository, 'e2e', 'fixtures', 'crds');
    const documents = readdirSync(definitions).map((file) => parseYaml(readFileSync(join(definitions, file), 'utf8')));
    expect(problemsOf({ real: typesOf(...(documents as JsonObject[])) })).toBe('');
  });
});
