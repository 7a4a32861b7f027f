import { expect, test } from '@jest/globals';
import { fieldKey, fieldTitle, formFields, objectOfForm } from './object-form.ts';
import type { OpenApiSchema } from './openapi.ts';

const schema: OpenApiSchema = {
  properties: {
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        name: { type: 'string', default: 'web' },
        size: { type: 'integer' },
        mode: { enum: ['A', 'B'] },
        tags: { type: 'array', items: { type: 'string' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        rules: { type: 'array', items: { type: 'object' } },
        tls: { type: 'object', required: ['host'], properties: { host: { type: 'string' } } },
      },
    },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};
const fields = formFields({}, schema);
const submit = (values: Record<string, string>) => objectOfForm({ kind: 'A' }, fields, new Map(Object.entries(values)));

test('shows what a form can hold, required fields first; those of an optional part are optional', () => {
  expect(fields.map((field) => `${fieldKey(field)}: ${field.kind}${field.isRequired ? '!' : ''}`)).toEqual([
    'spec.size: integer!',
    'spec.name: text',
    'spec.mode: choice',
    'spec.tags: list',
    'spec.labels: map',
    'spec.tls.host: text',
  ]);
});

test('makes an object of what is filled in', () => {
  expect(submit({ 'spec.size': '3', 'spec.tags': 'a\n\nb', 'spec.labels': 'x=1=2', 'spec.mode': 'B' })).toEqual({
    object: { kind: 'A', spec: { size: 3, name: 'web', tags: ['a', 'b'], labels: { x: '1=2' }, mode: 'B' } },
    problems: new Map(),
  });
});

test('says what is wrong, by field', () => {
  expect(submit({ 'spec.labels': 'x' }).problems).toEqual(
    new Map([
      ['spec.size', 'is required'],
      ['spec.labels', 'takes one name=value per line'],
    ]),
  );
  expect(submit({ 'spec.size': '1.5' }).problems.get('spec.size')).toBe('is not a whole number');
});

test.each([
  [['spec', 'storage', 'size'], 'Storage size'],
  [['spec', 'allowedNetworks'], 'Allowed networks'],
  [['binaryData'], 'Binary data'],
  [['spec', 'externalIPs'], 'External IPs'],
  [['spec'], 'Spec'],
])('the title of %j is %s', (path, title) => expect(fieldTitle({ path })).toBe(title));
