import type { Body } from './grammar.ts';
import { oddString, oddValue } from './odd-values.ts';
import type { Random } from './random.ts';

const formats = [
  'date-time',
  'date',
  'email',
  'ipv4',
  'cidr',
  'uuid',
  'byte',
  'int32',
  'int64',
  'hostname',
  'duration',
  'uri',
  'x',
];
const patterns = ['^[a-z]+$', 'a', '^.{2,3}$', '\\d+'];

const texts = (random: Random): Body => ({
  type: 'string',
  ...random.optional(0.2, {
    minLength: () => random.int(3),
    maxLength: () => 1 + random.int(6),
    pattern: () => random.pick(patterns),
    format: () => random.pick(formats),
    enum: () => ['a', 'b', 'abc'],
  }),
});

const numbers = (random: Random, type: 'integer' | 'number'): Body => ({
  type,
  ...random.optional(0.2, {
    minimum: () => random.int(5),
    maximum: () => 3 + random.int(10),
    exclusiveMinimum: () => random.chance(0.5),
    multipleOf: () => random.pick([2, 3]),
    enum: () => [1, 2, 6],
    format: () => random.pick(['int32', 'int64', 'float', 'double']),
  }),
});

const rules = [
  'self == self',
  'self != null',
  'size(self) < 3',
  'self > 1',
  'self == oldSelf',
  "has(self.a) && self.a == 'a'",
  'self.all(x, x != null)',
];

function objects(random: Random, depth: number): Body {
  const names = random.some(['a', 'b', 'c', 'd-e'], 3);
  return {
    type: 'object',
    ...random.weighted<() => Body>([
      [5, () => ({ properties: Object.fromEntries(names.map((name) => [name, schemaOf(random, depth + 1)])) })],
      [2, () => ({ additionalProperties: schemaOf(random, depth + 1) })],
      [1, () => ({ 'x-kubernetes-preserve-unknown-fields': true })],
      [0.5, () => ({ additionalProperties: true })],
    ])(),
    ...random.optional(0.2, {
      required: () => random.some(['a', 'b'], 2),
      maxProperties: () => 2,
      minProperties: () => 1,
      'x-kubernetes-map-type': () => random.pick(['atomic', 'granular']),
    }),
    ...random.optional(0.06, {
      anyOf: () => [{ required: ['a'] }, { required: ['b'] }],
      oneOf: () => [{ required: ['a'] }, { properties: { b: { minLength: 1 } } }],
      not: () => ({ required: ['b'] }),
    }),
    ...(random.chance(0.05)
      ? { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }
      : {}),
  };
}

function lists(random: Random, depth: number): Body {
  const asMap = random.chance(0.3);
  return {
    type: 'array',
    items: asMap
      ? {
          type: 'object',
          required: ['key'],
          properties: { key: { type: random.pick(['string', 'integer']) }, v: schemaOf(random, depth + 1) },
        }
      : schemaOf(random, depth + 1),
    ...(asMap ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['key'] } : {}),
    ...random.optional(0.15, { maxItems: () => 2, minItems: () => 1 }),
    ...(!asMap && random.chance(0.3) ? { 'x-kubernetes-list-type': random.pick(['atomic', 'set']) } : {}),
  };
}

/** A random structural schema; nearly always one that a definition may have. */
export function schemaOf(random: Random, depth = 0): Body {
  const schema = random.weighted<() => Body>([
    [4, () => texts(random)],
    [2, () => numbers(random, 'integer')],
    [1, () => numbers(random, 'number')],
    [1, () => ({ type: 'boolean' })],
    [depth > 2 ? 0 : 4, () => objects(random, depth)],
    [depth > 2 ? 0 : 2, () => lists(random, depth)],
    [0.6, () => ({ 'x-kubernetes-int-or-string': true })],
  ])();
  return {
    ...schema,
    ...random.optional(0.1, {
      nullable: () => true,
      description: () => 'text',
      'x-kubernetes-validations': () => [
        {
          rule: random.pick(rules),
          ...random.optional(0.4, { message: () => 'no', reason: () => 'FieldValueForbidden', fieldPath: () => '.a' }),
        },
      ],
    }),
    ...(random.chance(0.12) ? { default: valueFor(random, schema) } : {}),
  };
}

const textFor = (random: Random, schema: Body): unknown => {
  const format = schema['format'];
  const valid: Readonly<Record<string, string>> = {
    'date-time': '2026-01-01T00:00:00Z',
    date: '2026-01-01',
    email: 'a@example.com',
    ipv4: '10.0.0.1',
    cidr: '10.0.0.0/8',
    uuid: '12345678-1234-4234-8234-123456789abc',
    byte: 'YQ==',
    hostname: 'example.com',
    duration: '1h',
    uri: 'https://example.com',
  };
  if (typeof format === 'string' && random.chance(0.6)) return valid[format] ?? 'x';
  return random.chance(0.8) ? random.pick(['a', 'b', 'ab', 'abc', '12', '']) : oddString(random);
};

/** A value that mostly has the schema's type, and often satisfies it. */
export function valueFor(random: Random, schema: Body): unknown {
  if (random.chance(0.05)) return oddValue(random);
  const inner = (key: string): Body => (schema[key] ?? {}) as Body;
  switch (schema['type']) {
    case 'string':
      return textFor(random, schema);
    case 'integer':
      return random.pick([0, 1, 2, 3, 6, 12, -1]);
    case 'number':
      return random.pick([0, 1, 2.5, 6, -0.5]);
    case 'boolean':
      return random.chance(0.5);
    case 'array':
      return random.list(3, () => valueFor(random, inner('items')));
    case 'object': {
      const known = Object.entries(inner('properties')).filter(() => random.chance(0.75));
      const value: Body = Object.fromEntries(known.map(([name, each]) => [name, valueFor(random, each as Body)]));
      if (typeof schema['additionalProperties'] === 'object')
        for (const name of random.some(['a', 'b', 'x'], 2))
          value[name] = valueFor(random, inner('additionalProperties'));
      if (schema['x-kubernetes-embedded-resource'] === true)
        Object.assign(
          value,
          random.optional(0.7, {
            apiVersion: () => 'v1',
            kind: () => 'Pod',
            metadata: () => ({ name: random.pick(['a', 'A b']), extra: 1 }),
          }),
        );
      if (random.chance(0.1)) value['unknown'] = oddValue(random);
      return value;
    }
    default:
      return random.pick([1, '1', '50%', 'x', 1.5]);
  }
}
