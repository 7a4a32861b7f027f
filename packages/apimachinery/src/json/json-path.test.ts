import { describe, expect, test } from '@jest/globals';
import { JsonPath, jsonPathText } from './json-path.ts';
import type { Json } from './json.ts';

const object: Json = {
  metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x' } },
  spec: {
    replicas: 3,
    big: 2n ** 60n,
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ],
    nested: [[1, 2], [3]],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False' },
    ],
  },
};

describe('JSON paths', () => {
  test.each([
    ['.metadata.name', ['a']],
    ['{.metadata.name}', ['a']],
    ['metadata.name', ['a']],
    ['$.metadata.name', ['a']],
    [String.raw`.metadata.labels.app\.kubernetes\.io/name`, ['x']],
    [".metadata.labels['app.kubernetes.io/name']", ['x']],
    ['.spec.ports[0].port', [80]],
    ['.spec.ports[-1].port', [443]],
    ['.spec.ports[2].port', []],
    ['.spec.ports[-3].port', []],
    ['.spec.ports[*].name', ['http', 'https']],
    ['.spec.ports[0:1].name', ['http']],
    ['.spec.ports[1:].name', ['https']],
    ['.spec.ports[-1:].name', ['https']],
    ['.spec.ports[:-1].name', ['http']],
    ['.spec.ports[0:2:2].name', ['http']],
    ['.spec.ports[0,1].port', [80, 443]],
    [".spec['replicas','big']", [3, 2n ** 60n]],
    ['.spec.nested[*][0]', [1, 3]],
    ['..port', [80, 443]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    ['.status.conditions[?(@.type == "None")].status', []],
    ['.spec.ports[?(@.port > 100)].name', ['https']],
    ['.spec.ports[?(@.port<=80)].name', ['http']],
    ['.spec.ports[?(@.port!=80)].name', ['https']],
    [".spec.ports[?(@.name>='https')].port", [443]],
    ['.spec.ports[?(@.port)].port', [80, 443]],
    ['.spec.ports[?(@.none)].port', []],
    ['.missing.field', []],
    ['.metadata.constructor', []],
    ['.metadata.__proto__', []],
    ['.', [object]],
  ] as [string, Json[]][])('%s', (path, found) => {
    expect(new JsonPath(path).find(object)).toEqual(found);
  });

  test.each([
    '{.a',
    '.a[',
    '.a[?(@.b',
    '.a[?(@.b==)]',
    ".a['b]",
    '.a b',
    '.a[0:2:0]',
    '.a[x',
    '.a.',
    'x'.repeat(5000),
    `.a${'[?(@.a'.repeat(20)}${')]'.repeat(20)}`,
  ])('%.30j cannot be understood', (path) => {
    expect(() => new JsonPath(path)).toThrow(expect.objectContaining({ name: 'JsonPathError' }));
  });

  test('give the first result and its text', () => {
    expect(new JsonPath('.spec.ports[*].name').first(object)).toBe('http');
    expect(new JsonPath('.none').first(object)).toBeUndefined();
    expect(jsonPathText('a')).toBe('a');
    expect(jsonPathText({ a: [1, 2n ** 60n] })).toBe('{"a":[1,1152921504606846976]}');
    expect(jsonPathText(true)).toBe('true');
  });

  test('cannot be made to run away', () => {
    let wide: Json = 1;
    for (let level = 0; level < 6; level++) wide = [wide, wide, wide, wide];
    const begin = performance.now();
    expect(new JsonPath('..*..*..*..*..*').find(wide).length).toBeLessThanOrEqual(10_000);
    expect(performance.now() - begin).toBeLessThan(20_000);
  });
});
