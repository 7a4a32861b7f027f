import { describe, expect, test } from '@jest/globals';
import { deepCopy, asJson, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { ConversionError, VersionConversions, type VersionConversionRules } from './version-conversions.ts';

const text: JsonObject = { type: 'string' };
const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const schemas: Readonly<Record<string, JsonObject>> = {
  v1: object({ spec: object({ first: text, last: text, count: { type: 'integer' }, nick: text }) }),
  v2: object({
    spec: object({
      full: text,
      name: object({ long: text }),
      count: { type: 'integer' },
      tags: { type: 'array', items: text },
    }),
  }),
};
const schemaOf = (version: string): JsonObject | undefined => schemas[version];
const forth = { from: 'v1', to: 'v2' };
const back = { from: 'v2', to: 'v1' };

const objectOf = (version: string, spec: JsonObject, annotations?: Record<string, string>): KubeObject => ({
  apiVersion: `example.dev/${version}`,
  kind: 'Widget',
  metadata: { name: 'a', ...(annotations === undefined ? {} : { annotations }) },
  spec,
});

/** The object after these conversions, each as far as its version knows its fields. */
function converted(rules: VersionConversionRules, from: KubeObject, ...versions: string[]): KubeObject {
  const conversions = new VersionConversions(rules, schemaOf);
  expect(conversions.problems).toEqual([]);
  const result = deepCopy(asJson(from)) as unknown as KubeObject;
  for (const version of versions) {
    conversions.convert(result, result.apiVersion.split('/')[1] as string, version);
    result.apiVersion = `example.dev/${version}`;
    const spec = result['spec'] as JsonObject;
    const known = ((schemas[version] as JsonObject)['properties'] as JsonObject)['spec'] as JsonObject;
    for (const name of Object.keys(spec))
      if (!Object.hasOwn(known['properties'] as JsonObject, name)) delete spec[name];
  }
  return result;
}

describe('a conversion', () => {
  test('moves values, through an expression where there is one', () => {
    const rules = [
      {
        ...forth,
        rules: [
          { field: '.spec.first', destination: '.spec.full', transformation: 'self.upperAscii()' },
          { field: 'spec.count', destination: 'spec.count', transformation: 'self + 1' },
        ],
      },
    ];
    const result = converted(rules, objectOf('v1', { first: 'ann', last: 'lee', count: 1 }), 'v2');
    expect(result['spec']).toEqual({ full: 'ANN', count: 2 });
    expect(result.metadata).toEqual({ name: 'a' });
  });

  test('reads the object as it was, whatever the order of its rules', () => {
    const rules = [
      {
        from: 'v1',
        to: 'v2',
        rules: [
          { field: 'spec.nick', destination: 'spec.full' },
          { field: 'spec.last', destination: 'spec.name.long' },
        ],
      },
    ];
    expect(converted(rules, objectOf('v1', { nick: 'x', last: 'y' }), 'v2')['spec']).toEqual({
      full: 'x',
      name: { long: 'y' },
    });
  });

  test('leaves out what was not there', () => {
    const rules = [
      { ...forth, rules: [{ field: 'spec.first', destination: 'spec.full', transformation: 'self + "!"' }] },
    ];
    expect(converted(rules, objectOf('v1', { last: 'lee' }), 'v2')['spec']).toEqual({});
  });

  test('and back gives what was there, with what the other version cannot hold put aside', () => {
    const rules = [
      {
        ...forth,
        rules: [{ field: 'spec.first', destination: 'spec.full' }],
        preserve: ['spec.last', '.spec.nick'],
      },
      {
        ...back,
        rules: [{ field: 'spec.full', destination: 'spec.first' }],
        preserve: ['spec.tags', 'spec.name'],
      },
    ];
    const old = objectOf('v1', { first: 'ann', last: 'lee', nick: 'n', count: 3 });
    const fresh = converted(rules, old, 'v2');
    expect(fresh['spec']).toMatchObject({ full: 'ann', count: 3 });
    expect(fresh.metadata.annotations).toEqual({
      'preserve.conversion.apis.kcp.io/v1': '{"spec.last":"lee","spec.nick":"n"}',
    });
    expect(converted(rules, old, 'v2', 'v1')).toEqual(old);
    const young = objectOf('v2', { full: 'ann', tags: ['a', 'b'], name: { long: 'l' } }, { mine: 'stays' });
    expect(converted(rules, young, 'v1').metadata.annotations).toEqual({
      mine: 'stays',
      'preserve.conversion.apis.kcp.io/v2': '{"spec.tags":["a","b"],"spec.name":{"long":"l"}}',
    });
    expect(converted(rules, young, 'v1', 'v2')).toEqual(young);
  });

  test('takes nothing out of an annotation but what is preserved', () => {
    const rules = [{ ...back, rules: [{ field: 'spec.full', destination: 'spec.first' }], preserve: ['spec.tags'] }];
    const forged = '{"spec.tags":["t"],"spec.count":9,"metadata.name":"b","__proto__.x":1}';
    const result = converted(rules, objectOf('v1', {}, { 'preserve.conversion.apis.kcp.io/v2': forged }), 'v2');
    expect(result).toEqual(objectOf('v2', { tags: ['t'] }));
    const broken = objectOf('v1', { count: 1 }, { 'preserve.conversion.apis.kcp.io/v2': '{' });
    expect(converted(rules, broken, 'v2')).toEqual(objectOf('v2', { count: 1 }));
  });

  test('never ends late: rules that together take too long are given up, and none of them is left to others', () => {
    const endless = 'self.map(a, self.map(b, self.map(c, a + b + c)))[0][0][0]';
    const rules = Array.from({ length: 100 }, () => ({
      field: 'spec.tags',
      destination: 'spec.first',
      transformation: endless,
    }));
    const conversions = new VersionConversions([{ ...back, rules }], schemaOf);
    const wide = objectOf('v2', { tags: Array.from({ length: 1000 }, (_, index) => `t${index}`) });
    expect(() => conversions.convert(wide, 'v2', 'v1')).toThrow(
      'conversion from v2 to v1 failed: spec.tags: operation cancelled: actual cost limit exceeded',
    );
    const each = 'self.map(a, a + "x")[0]';
    const many = new VersionConversions(
      [{ ...back, rules: rules.map((rule) => ({ ...rule, transformation: each })) }],
      schemaOf,
    );
    expect(() => many.convert(wide, 'v2', 'v1')).toThrow('actual cost limit exceeded');
    expect(() => many.convert(objectOf('v2', { tags: ['a'] }), 'v2', 'v1')).not.toThrow();
  });

  test('moves as much as there is, and multiplies only what is small', () => {
    const rules = Array.from({ length: 100 }, (_, index) => ({
      field: 'spec.first',
      destination: index % 2 === 0 ? 'spec.full' : 'spec.name.long',
    }));
    const big = (): KubeObject => objectOf('v1', { first: 'x'.repeat(1_000_000) });
    const once = new VersionConversions([{ ...forth, rules: rules.slice(0, 1) }], schemaOf);
    expect(() => once.convert(big(), 'v1', 'v2')).not.toThrow();
    const often = new VersionConversions([{ ...forth, rules }], schemaOf);
    expect(() => often.convert(big(), 'v1', 'v2')).toThrow('too much is copied');
    expect(() => often.convert(objectOf('v1', { first: 'ann' }), 'v1', 'v2')).not.toThrow();
  });

  test('whose expression fails for an object says so', () => {
    const rules = [
      { ...forth, rules: [{ field: 'spec.count', destination: 'spec.count', transformation: '10 / self' }] },
    ];
    const conversions = new VersionConversions(rules, schemaOf);
    expect(() => conversions.convert(objectOf('v1', { count: 0 }), 'v1', 'v2')).toThrow(ConversionError);
    expect(() => conversions.convert(objectOf('v1', { count: 0 }), 'v1', 'v2')).toThrow('division by zero');
  });
});

describe('rules that cannot be used', () => {
  const problemsOf = (rules: VersionConversionRules): string[] =>
    new VersionConversions(rules, schemaOf).problems.map(({ field, detail }) => `${field}: ${detail.split('\n')[0]}`);

  test('are reported with their place', () => {
    expect(
      problemsOf([
        {
          ...forth,
          rules: [
            { field: 'spec.nosuch', destination: 'spec.full' },
            { field: 'spec.first', destination: 'metadata.name' },
            { field: 'spec.first', destination: 'spec..full' },
            { field: 'spec.first', destination: 'spec.full', transformation: 'self.nosuch()' },
          ],
          preserve: ['spec.first.x'],
        },
        { from: 'v1', to: 'v9', rules: [] },
      ]),
    ).toEqual([
      'conversions[0].rules[0].field: field "spec.nosuch" does not exist',
      'conversions[0].rules[1].destination: metadata cannot be converted',
      'conversions[0].rules[2].destination: must be names of fields, joined by dots',
      expect.stringContaining('conversions[0].rules[3].transformation: '),
      'conversions[0].preserve[0]: field "spec.first.x" does not exist',
      'conversions[1].to: no such version',
    ]);
    const rules = Array.from({ length: 200 }, () => ({ field: 'spec.first', destination: 'spec.full' }));
    expect(problemsOf([{ ...forth, rules }])).toEqual([expect.stringContaining('at most 128 rules')]);
  });

  test('keep the objects that need them from being shown', () => {
    const conversions = new VersionConversions(
      [{ ...forth, rules: [{ field: 'spec.nosuch', destination: 'spec.full' }] }],
      schemaOf,
    );
    expect(() => conversions.convert(objectOf('v1', {}), 'v1', 'v2')).toThrow('does not exist');
    expect(() => conversions.convert(objectOf('v2', {}), 'v2', 'v1')).not.toThrow();
  });
});
