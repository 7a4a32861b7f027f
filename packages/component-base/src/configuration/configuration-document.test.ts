import { describe, expect, test } from '@jest/globals';
import { ConfigurationDocument } from './configuration-document.ts';
import { ConfigurationError } from './configuration-error.ts';

interface Route {
  readonly path: string;
  readonly mode?: 'on' | 'off';
  readonly tags?: readonly string[];
}

const document = new ConfigurationDocument<{ readonly version: string; readonly routes?: readonly Route[] }>(
  {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['version'],
      properties: {
        version: { const: 'v1' },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        routes: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            description: 'a route',
            required: ['path'],
            additionalProperties: false,
            properties: {
              path: { type: 'string', pattern: '^/', description: 'a path that begins with a slash' },
              mode: { enum: ['on', 'off'] },
              tags: { type: 'array', items: { type: 'string' } },
            },
          },
        },
      },
    },
  },
  { decode: (text) => JSON.parse(text) as unknown },
);

const problemsOf = (value: unknown): readonly string[] => {
  try {
    document.validate(value, 'routes.yaml');
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
};

describe('a configuration document', () => {
  test('yields what it says; null members count as absent', () => {
    const text = '{"version":"v1","routes":[{"path":"/a","mode":null,"tags":["x"]}]}';
    expect(document.parse(text, 'routes.yaml')).toEqual({ version: 'v1', routes: [{ path: '/a', tags: ['x'] }] });
  });

  test.each<[string, unknown, readonly string[]]>([
    ['a missing field', { routes: [{}] }, ['version: Required value', 'routes[0].path: Required value']],
    [
      'an unknown field',
      { version: 'v1', routes: [{ path: '/', pathh: 1 }], x: 1 },
      ['strict decoding error: unknown field "x"', 'strict decoding error: unknown field "routes[0].pathh"'],
    ],
    [
      'a value outside of an enumeration',
      { version: 'v2', routes: [{ path: '/', mode: 'auto' }] },
      [
        'version: Unsupported value: "v2": supported values: "v1"',
        'routes[0].mode: Unsupported value: "auto": supported values: "on", "off"',
      ],
    ],
    [
      'a value of another type',
      { version: 'v1', routes: [5, { path: '/', tags: [null] }], labels: { 'a/b~': [] } },
      [
        'labels.a/b~: must be of type string, got array',
        'routes[0]: must be a route, got number',
        'routes[1].tags[0]: must be of type string, got null',
      ],
    ],
    [
      'a value that does not match its pattern',
      { version: 'v1', routes: [{ path: 'secret' }] },
      ['routes[0].path: must be a path that begins with a slash'],
    ],
    ['a list that is too short', { version: 'v1', routes: [] }, ['routes: must NOT have fewer than 1 items']],
    ['a document of another type', 'text', ['must be of type object, got string']],
    [
      'a member with the name of a prototype',
      JSON.parse('{"version":"v1","__proto__":{}}'),
      ['strict decoding error: unknown field "__proto__"'],
    ],
  ])('names path and expected form of %s', (_what, value, problems) => {
    expect(problemsOf(value)).toEqual(problems);
  });

  test('names the file', () => {
    expect(() => document.parse('{}', 'routes.yaml')).toThrow('routes.yaml: version: Required value');
    expect(() => document.parse('{"x":1}', 'routes.yaml')).toThrow(
      'routes.yaml: [version: Required value, strict decoding error: unknown field "x"]',
    );
    expect(() => document.parse('{', 'routes.yaml')).toThrow(/^routes\.yaml: .*JSON/);
  });

  test('lists a bounded number of problems', () => {
    const problems = problemsOf({ version: 'v1', routes: Array.from({ length: 25 }, () => ({})) });
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toBe('and 15 more');
  });
});
