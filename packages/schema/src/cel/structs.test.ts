import { describe, expect, test } from '@jest/globals';
import { CelEnvironment } from './environment.ts';
import { jsonPatchLibrary } from './json-patch-library.ts';
import { functionTable } from './function-declaration.ts';
import { jsonOfValue } from './json-value.ts';
import { kubernetesFunctions } from './kubernetes-environment.ts';
import { patchStructs } from './patch-types.ts';
import { compileExpression } from './program.ts';
import { plainValue } from './schema-value.ts';
import { dynType, structType, typeText } from './types.ts';

const environment = new CelEnvironment({
  functions: new Map([...kubernetesFunctions, ...functionTable(jsonPatchLibrary)]),
  variables: { object: dynType },
  structs: patchStructs,
});
const object = plainValue({ metadata: { name: 'a' }, spec: { replicas: 3 } });

function evaluate(source: string): unknown {
  const { value, error } = compileExpression(source, environment).evaluate({ object });
  if (error !== undefined) throw error;
  return jsonOfValue(value);
}
const typeOf = (source: string): string => {
  const { type } = compileExpression(source, environment);
  return type === undefined ? '' : typeText(type);
};
const problem = (source: string): string => {
  try {
    compileExpression(source, environment);
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? '';
  }
  return '';
};

describe('values that expressions make of types', () => {
  test('a configuration with nested types, maps and lists', () => {
    const source =
      'Object{metadata: Object.metadata{labels: {"a/b": "c"}}, spec: Object.spec{replicas: object.spec.replicas + 1, ports: [Object.spec.ports{port: 80}]}}';
    expect(typeOf(source)).toBe('Object');
    expect(evaluate(source)).toEqual({
      metadata: { labels: { 'a/b': 'c' } },
      spec: { replicas: 4, ports: [{ port: 80 }] },
    });
  });

  test('operations of a patch', () => {
    const source =
      '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: {"x": [1, 2]}}]';
    expect(typeOf(source)).toBe('list(JSONPatch)');
    expect(evaluate(source)).toEqual([{ op: 'add', path: '/metadata/labels/a~1b~0c', value: { x: [1, 2] } }]);
  });

  test('optional fields are left out when there is nothing', () => {
    expect(evaluate('Object{?spec: object.?nope, ?metadata: object.?metadata}')).toEqual({ metadata: { name: 'a' } });
  });

  test('either of two', () => {
    expect(typeOf('object.spec.replicas > 1 ? [JSONPatch{op: "remove", path: "/spec"}] : []')).toBe('list(JSONPatch)');
    expect(evaluate('object.spec.replicas < 1 ? Object{spec: 1} : Object{}')).toEqual({});
  });

  test('they compare by type and fields', () => {
    expect(evaluate('Object.a{x: 1} == Object.a{x: 1}')).toBe(true);
    expect(evaluate('Object.a{x: 1} == Object.a{x: 1, y: 2}')).toBe(false);
    expect(evaluate('dyn(Object.a{x: 1}) == dyn(Object.b{x: 1})')).toBe(false);
  });

  test('making one costs', () => {
    expect(compileExpression('Object{}', environment).evaluate({}).cost).toBe(40);
  });

  test.each([
    ['Nope{}', "undeclared reference to 'Nope'"],
    ['JSONPatch{nope: 1}', "undefined field 'nope'"],
    ['JSONPatch{op: 1}', "expected type of field 'op' is 'string' but provided type is 'int'"],
  ])('%s is refused', (source, why) => {
    expect(problem(source)).toContain(why);
  });

  test('elsewhere there are no such types', () => {
    const plain = new CelEnvironment({ functions: kubernetesFunctions });
    expect(() => compileExpression('Object{}', plain)).toThrow("undeclared reference to 'Object' (in container '')");
  });
});

test('integers that no double holds stay exact', () => {
  expect(evaluate('[9007199254740993, 2]')).toEqual([9_007_199_254_740_993n, 2]);
});

test('a struct with a field without a name has no other fields', () => {
  const fields = new Map([['', dynType]]);
  const strict = new CelEnvironment({
    functions: kubernetesFunctions,
    variables: { variables: structType('kubernetes.variables', fields) },
  });
  expect(() => compileExpression('variables.v == 1', strict)).toThrow("undefined field 'v'");
});
