import { describe, expect, test } from '@jest/globals';
import { editableYaml } from './editable-object.ts';
import { mergeTexts } from './merge-texts.ts';
import { schemaAt, schemaOfKind, typeText, type OpenApiDocument } from './openapi.ts';
import { yamlPlaceAt } from './yaml-path.ts';

const lines = (...text: string[]): string => text.join('\n');

describe('merge', () => {
  const base = lines('a: 1', 'b: 2', 'c: 3', 'd: 4');
  test('takes what either side changed', () => {
    const merged = mergeTexts(
      base,
      lines('a: 1', 'b: 20', 'c: 3', 'd: 4'),
      lines('a: 1', 'b: 2', 'c: 3', 'd: 40', 'e: 5'),
    );
    expect(merged).toEqual({ text: lines('a: 1', 'b: 20', 'c: 3', 'd: 40', 'e: 5'), conflicts: [] });
  });
  test('the same change on both sides is no conflict', () => {
    const both = lines('a: 1', 'x: 9', 'd: 4');
    expect(mergeTexts(base, both, both)).toEqual({ text: both, conflicts: [] });
  });
  test('a place that both changed is a conflict, and has what is mine', () => {
    const { text, conflicts } = mergeTexts(
      base,
      lines('a: 1', 'b: 20', 'c: 3', 'd: 4'),
      lines('a: 1', 'b: 21', 'c: 3', 'd: 4'),
    );
    expect(text).toBe(lines('a: 1', 'b: 20', 'c: 3', 'd: 4'));
    expect(conflicts).toEqual([{ line: 2, mine: 'b: 20', theirs: 'b: 21' }]);
  });
  test('a deletion of mine and an addition of theirs elsewhere fit together', () => {
    expect(mergeTexts(base, lines('a: 1', 'c: 3', 'd: 4'), lines('z: 0', 'a: 1', 'b: 2', 'c: 3', 'd: 4'))).toEqual({
      text: lines('z: 0', 'a: 1', 'c: 3', 'd: 4'),
      conflicts: [],
    });
  });
  test('holds for random changes of one side', () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    for (let round = 0; round < 200; round++) {
      const old = Array.from({ length: random(30) }, () => `k${random(6)}`);
      const changed = old.flatMap((line) => [[line], [], [line, 'new'], ['other']][random(4)] ?? []);
      const [from, to] = [old.join('\n'), changed.join('\n')];
      expect(mergeTexts(from, to, from)).toEqual({ text: to, conflicts: [] });
      expect(mergeTexts(from, from, to)).toEqual({ text: to, conflicts: [] });
    }
  });
});

describe('place in a text', () => {
  const text = lines(
    'apiVersion: v1',
    'metadata:',
    '  name: a',
    '  labels:',
    '    app: web',
    'spec:',
    '  containers:',
    '  - name: one',
    '    image: x',
    '  - name: two',
    '    ports:',
    '      - port: 80',
    '        ',
    '  ',
  );
  const placeAfter = (part: string): ReturnType<typeof yamlPlaceAt> =>
    yamlPlaceAt(text, text.indexOf(part) + part.length);
  test.each([
    ['apiV', [], true],
    ['  nam', ['metadata'], true],
    ['app: w', ['metadata', 'labels', 'app'], false],
    ['  - nam', ['spec', 'containers', '0'], true],
    ['    ima', ['spec', 'containers', '0'], true],
    ['name: tw', ['spec', 'containers', '1', 'name'], false],
    ['- port: 8', ['spec', 'containers', '1', 'ports', '0', 'port'], false],
    ['port: 80\n        ', ['spec', 'containers', '1', 'ports', '0'], true],
  ])('after "%s": %j', (part, path, isKey) => {
    expect(placeAfter(part)).toMatchObject({ path, isKey });
  });
  test('on an empty line the cursor says how deep', () => {
    expect(yamlPlaceAt(text, text.length)).toMatchObject({ path: ['spec'], isKey: true, siblings: ['containers'] });
  });
  test('knows the keys that are there', () => {
    expect(placeAfter('    ima').siblings).toEqual(['name']);
    expect(placeAfter('  nam').siblings).toEqual(['labels']);
  });
});

describe('schema', () => {
  const document: OpenApiDocument = {
    components: {
      schemas: {
        'io.example.Widget': {
          type: 'object',
          'x-kubernetes-group-version-kind': [{ group: 'example.io', version: 'v1', kind: 'Widget' }],
          properties: {
            spec: {
              type: 'object',
              properties: {
                parts: {
                  type: 'array',
                  items: { allOf: [{ $ref: '#/components/schemas/Part' }], description: 'One part.' },
                },
                labels: { type: 'object', additionalProperties: { type: 'string' } },
                size: { enum: ['S', 'L'] },
              },
            },
          },
        },
        Part: { type: 'object', description: 'A part.', properties: { port: { type: 'integer' } } },
        Loop: { $ref: '#/components/schemas/Loop' },
      },
    },
  };
  const root = schemaOfKind(document, { group: 'example.io', version: 'v1', kind: 'Widget' });
  const at = (...path: string[]) => (root === undefined ? undefined : schemaAt(document, root, path));
  test('is found through lists, maps and references', () => {
    expect(at('spec', 'parts', '0')?.description).toBe('One part.');
    expect(at('spec', 'parts', '3', 'port')?.type).toBe('integer');
    expect(at('spec', 'labels', 'anything')?.type).toBe('string');
    expect(at('spec', 'nothing')).toBeUndefined();
  });
  test('one that leads to itself is empty', () => {
    expect(schemaAt(document, { $ref: '#/components/schemas/Loop' }, [])).toEqual({});
  });
  test.each([
    ['parts', 'list of object'],
    ['labels', 'map of string'],
    ['size', 'one of S, L'],
  ])('%s takes a %s', (field, text) => expect(typeText(document, at('spec', field) ?? {})).toBe(text));
});

test('the YAML of an object leaves out managed fields', () => {
  const object = { kind: 'A', metadata: { name: 'a', managedFields: [{ manager: 'x' }], labels: { b: 'true' } } };
  expect(editableYaml(object)).toBe('kind: A\nmetadata:\n  labels:\n    b: "true"\n  name: a\n');
});
