import { expect, test } from '@jest/globals';
import { FieldPath, fieldErrorBody, fieldErrorText, type JsonObject } from '@multiplane/apimachinery';
import { unrecognizedFormats, validateDefinitionSchema } from './validate-definition-schema.ts';
import { validateSelectableFields } from './validate-selectable-fields.ts';

const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const path = FieldPath.of('schema');

/** Schemas and what a real server says of them; an empty list: accepted. */
const recorded: readonly (readonly [string, readonly string[]])[] = [
  ['{}', ['schema.type | FieldValueRequired | Required value: must not be empty at the root']],
  ['{"type":"string"}', ['schema.type | FieldValueInvalid | Invalid value: "string": must be object at the root']],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array"}}}}}',
    ['schema.properties[spec].properties[a].items | FieldValueRequired | Required value: must be specified'],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{}}}}}}',
    [
      'schema.properties[spec].properties[a].items.type | FieldValueRequired | Required value: must not be empty for specified array items',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"null"}}}}}',
    [
      'schema.properties[spec].properties[a].type | FieldValueNotSupported | Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
      'schema.properties[spec].properties[a].type | FieldValueForbidden | Forbidden: type cannot be set to null, use nullable as an alternative',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","nullable":true,"default":null}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":{"type":"string"}}}}}}',
    [
      'schema.properties[spec].properties[a].additionalProperties | FieldValueForbidden | Forbidden: additionalProperties and properties are mutual exclusive',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","additionalProperties":false}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"}]}}}}}',
    [
      'schema.properties[spec].properties[a].anyOf[0].type | FieldValueForbidden | Forbidden: must be empty to be structural',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","not":{"default":"x"}}}}}}',
    [
      'schema.properties[spec].properties[a].not.default | FieldValueForbidden | Forbidden: must be undefined to be structural',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","allOf":[{"description":"x","title":"y"}]}}}}}',
    [
      'schema.properties[spec].properties[a].allOf[0].description | FieldValueForbidden | Forbidden: must be empty to be structural',
      'schema.properties[spec].properties[a].allOf[0].title | FieldValueForbidden | Forbidden: must be empty to be structural',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"type":"string"}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":false,"type":"object"}}}}}',
    [
      'schema.properties[spec].properties[a].x-kubernetes-preserve-unknown-fields | FieldValueInvalid | Invalid value: false: must be true or undefined',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","x-kubernetes-preserve-unknown-fields":true}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"x-kubernetes-embedded-resource":true}}}}}',
    [
      'schema.properties[spec].properties[a].properties | FieldValueRequired | Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      'schema.properties[spec].properties[a].type | FieldValueInvalid | Invalid value: "array": must be object if x-kubernetes-embedded-resource is true',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","$ref":"#/x"}}}}}',
    ['schema.properties[spec].properties[a].$ref | FieldValueForbidden | Forbidden: $ref is not supported'],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"uniqueItems":true}}}}}',
    [
      'schema.properties[spec].properties[a].uniqueItems | FieldValueForbidden | Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}}}',
    [
      'schema.properties[spec].properties[a].pattern | FieldValueInvalid | Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","patternProperties":{"x":{"type":"string"}}}}}}}',
    [
      'schema.properties[spec].properties[a].patternProperties | FieldValueForbidden | Forbidden: patternProperties is not supported',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","dependencies":{"x":["y"]}}}}}}',
    [
      'schema.properties[spec].properties[a].dependencies | FieldValueForbidden | Forbidden: dependencies is not supported',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{}}},"nullable":true}',
    ['schema.nullable | FieldValueForbidden | Forbidden: nullable cannot be true at the root'],
  ],
  [
    '{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}',
    [
      'schema.properties[metadata] | FieldValueForbidden | Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
  ],
  [
    '{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":3}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"kind":{"type":"integer"},"apiVersion":{"type":"object"}}}',
    [
      'schema.properties[apiVersion].type | FieldValueInvalid | Invalid value: "object": must be string',
      'schema.properties[kind].type | FieldValueInvalid | Invalid value: "integer": must be string',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer","minimum":5,"maximum":3,"multipleOf":0}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","format":"nope"},"b":{"type":"string","minLength":-1}}}}}',
    [],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","default":5}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueTypeInvalid | Invalid value: "integer":  in body must be of type string: "integer"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","default":1,"x-kubernetes-int-or-string":true}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueTypeInvalid | Invalid value: "integer":  in body must be of type string: "integer"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"a","default":"x"}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueTypeInvalid | Invalid value: "string":  in body must be of type a: "string"',
      'schema.properties[spec].properties[a].type | FieldValueNotSupported | Unsupported value: "a": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueTypeInvalid | Invalid value: "string":  in body must be of type integer: "string"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}},"default":{"y":"z"}}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueInvalid | Invalid value: {"y":"z"}: must not have unknown fields',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","required":["x"],"properties":{"x":{"type":"string"}},"default":{}}}}}}',
    ['schema.properties[spec].properties[a].default.x | FieldValueRequired | Required value'],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","enum":["a","b"],"default":"c"}}}}}',
    [
      'schema.properties[spec].properties[a].default | FieldValueNotSupported | Unsupported value: "c": supported values: "a", "b"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"maxItems":1,"default":["a","b"]}}}}}',
    ['schema.properties[spec].properties[a].default | FieldValueTooMany | Too many: 2: must have at most 1 item'],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"nope"}}}}}',
    [
      'schema.properties[spec].properties[a].x-kubernetes-list-type | FieldValueNotSupported | Unsupported value: "nope": supported values: "atomic", "set", "map"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}},"x-kubernetes-list-type":"set"}}}}}',
    [
      'schema.properties[spec].properties[a].items.x-kubernetes-map-type | FieldValueInvalid | Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["x"]}}}}}',
    [
      'schema.properties[spec].properties[a].items.properties[x].default | FieldValueRequired | Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","required":["y"],"properties":{"x":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y"]}}}}}',
    [
      'schema.properties[spec].properties[a].x-kubernetes-list-map-keys | FieldValueInvalid | Invalid value: ["y"]: entries must all be names of item properties',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"x-kubernetes-list-map-keys":["x"]}}}}}',
    [
      'schema.properties[spec].properties[a].x-kubernetes-list-type | FieldValueRequired | Required value: must be map if x-kubernetes-list-map-keys is non-empty',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","nullable":true},"x-kubernetes-list-type":"set"}}}}}',
    [
      'schema.properties[spec].properties[a].items.nullable | FieldValueForbidden | Forbidden: cannot be nullable when x-kubernetes-list-type is set',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object","x-kubernetes-map-type":"nope"}}}}}',
    [
      'schema.properties[spec].properties[a].x-kubernetes-map-type | FieldValueNotSupported | Unsupported value: "nope": supported values: "atomic", "granular"',
    ],
  ],
  [
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"string"}},"x-kubernetes-list-type":"set"}}}}}',
    [],
  ],
];

test.each(recorded)('%s', (schema, expected) => {
  const errors = validateDefinitionSchema(json(schema), { path, statusSubresource: false });
  expect(errors.map((error) => `${error.field} | ${error.type} | ${fieldErrorBody(error)}`)).toEqual(expected);
});

const errorsOf = (properties: string, statusSubresource = false): string[] =>
  validateDefinitionSchema(json(`{"type":"object",${properties}}`), { path, statusSubresource }).map(fieldErrorText);

test('value rules at the root speak only of what exists', () => {
  expect(
    errorsOf(
      '"properties":{"spec":{"type":"object"}},"anyOf":[{"properties":{"spec":{"properties":{"x":{"minimum":1}}}}}]',
    ),
  ).toEqual([
    'schema.properties[spec].properties[x]: Required value: because it is defined in schema.anyOf[0].properties[spec].properties[x]',
  ]);
});

test('defaults are checked by formats of any type, values of objects are not', () => {
  expect(errorsOf('"properties":{"a":{"type":"integer","format":"uri","default":"1"}}')).toEqual([
    expect.stringMatching(/in body must be of type integer: "string"$/),
    expect.stringMatching(/in body must be of type uri: "1"$/),
  ]);
  expect(errorsOf('"properties":{"a":{"type":"string","format":"x","default":1}}')).toEqual([
    expect.stringMatching(/in body must be of type x: "int64"$/),
  ]);
});

test('int-or-string may repeat its types', () => {
  const types = '"anyOf":[{"type":"integer"},{"type":"string"}]';
  expect(errorsOf(`"properties":{"a":{"x-kubernetes-int-or-string":true,${types}}}`)).toEqual([]);
  expect(
    errorsOf(`"properties":{"a":{"x-kubernetes-int-or-string":true,"allOf":[{${types}},{"pattern":"^a"}]}}`),
  ).toEqual([]);
  expect(
    errorsOf('"properties":{"a":{"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true}}'),
  ).toEqual([
    'schema.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
  ]);
});

test('with the status subresource the root says nothing about the whole object', () => {
  expect(errorsOf('"properties":{"status":{"type":"object"}},"required":["spec"]', true)).toEqual([]);
  expect(errorsOf('"minProperties":1', true)[0]).toMatch(
    /^schema: Invalid value: .*: only \[Description Type Format .* XPreserveUnknownFields XValidations\] fields are allowed/,
  );
});

test.each([
  ['"b":{"type":"string","$ref":"","default":"x"}', ['schema.properties[spec].properties[b].$ref']],
  [
    '"b":{"type":"string","allOf":[{"$ref":""}],"default":"x"}',
    ['schema.properties[spec].properties[b].allOf[0].$ref'],
  ],
  [
    '"b":{"type":"array","items":{"type":"string","$ref":""},"default":["x"]}',
    ['schema.properties[spec].properties[b].items.$ref'],
  ],
])('an empty reference is refused and does not fail the check of defaults: %s', (properties, fields) => {
  const schema = json(`{"type":"object","properties":{"spec":{"type":"object","properties":{${properties}}}}}`);
  const errors = validateDefinitionSchema(schema, { path, statusSubresource: false });
  expect(errors.map(({ field }) => field)).toEqual(fields);
  expect(errors.map(fieldErrorText).join()).toContain('$ref is not supported');
});

test('the schema of metadata has no zeros and no empty lists, which Kubernetes keeps as pointers', () => {
  const accepts = (keywords: string): boolean =>
    validateDefinitionSchema(json(`{"type":"object","properties":{"metadata":{"type":"object",${keywords}}}}`), {
      path,
      statusSubresource: false,
    }).length === 0;
  for (const limit of ['Length', 'Items', 'Properties'])
    for (const keyword of [`max${limit}`, `min${limit}`])
      expect([keyword, accepts(`"${keyword}":0`)]).toEqual([keyword, false]);
  for (const keyword of ['maximum', 'minimum', 'multipleOf', 'example'])
    expect([keyword, accepts(`"${keyword}":0`)]).toEqual([keyword, false]);
  for (const keyword of ['required', 'x-kubernetes-validations', 'x-kubernetes-list-map-keys'])
    expect([keyword, accepts(`"${keyword}":[]`)]).toEqual([keyword, false]);
  expect(accepts('"additionalProperties":false')).toBe(false);
  expect(accepts('"externalDocs":{}')).toBe(false);
  // What the structural schema does not keep.
  for (const keywords of [
    '"nullable":false',
    '"title":""',
    '"enum":[]',
    '"allOf":[]',
    '"properties":{}',
    '"maximum":null',
  ])
    expect([keywords, accepts(keywords)]).toEqual([keywords, true]);
  expect(accepts('"properties":{"name":{"type":"string","maxLength":0}}')).toBe(true);
});

test('defaults are forbidden in the metadata', () => {
  expect(
    errorsOf(
      '"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"x"}}},"kind":{"type":"string","default":"X"}}',
    ),
  ).toEqual([
    'schema.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata',
    'schema.properties[kind].default: Forbidden: must not be set in top-level kind',
  ]);
});

const rules = (list: string): string[] =>
  errorsOf(
    `"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"x-kubernetes-validations":${list}}}`,
  ).map((text) => text.replace('schema.properties[a].x-kubernetes-validations', 'rules'));

test('rules are checked as far as they need no compiler', () => {
  expect(rules('[{"rule":"true","message":"m","reason":"FieldValueInvalid","fieldPath":".b"}]')).toEqual([]);
  expect(
    rules('[{"rule":" "},{"rule":"a\\nb"},{"rule":"true","message":" "},{"rule":"true","message":"a\\nb"}]'),
  ).toEqual([
    'rules[0].rule: Required value: rule is not specified',
    'rules[1].message: Required value: message must be specified if rule contains line breaks',
    'rules[2].message: Invalid value: " ": must be non-empty if specified',
    'rules[3].message: Invalid value: "a\\nb": must not contain line breaks',
  ]);
  expect(rules('[{"rule":"true","reason":"No","fieldPath":".c","messageExpression":" "}]')).toEqual([
    'rules[0].messageExpression: Required value: messageExpression must be non-empty if specified',
    'rules[0].reason: Unsupported value: "No": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    'rules[0].fieldPath: Invalid value: ".c": must be a valid path',
  ]);
});

test('unknown formats are named for a warning', () => {
  expect(
    unrecognizedFormats(
      json(
        '{"properties":{"a":{"type":"string","format":"nope"},"b":{"type":"array","items":{"type":"integer","format":"int16"}},"c":{"type":"string","format":"date-time"}}}',
      ),
    ),
  ).toEqual(['nope', 'int16']);
});

test('selectable fields lead to scalars outside of the metadata', () => {
  const schema = json(
    '{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"o":{"type":"object"},"l":{"type":"array"}}}}}',
  );
  const fields = [
    '.spec.a',
    '.spec.a',
    '.spec.none',
    '.spec.o',
    'spec.a',
    '.metadata.name',
    '',
    '.spec.l[0]',
    '.spec.',
  ];
  const errors = validateSelectableFields(
    fields.map((jsonPath) => ({ jsonPath })),
    schema,
    FieldPath.of('f'),
  );
  expect(errors.map(fieldErrorText)).toEqual([
    'f[1].jsonPath: Duplicate value: ".spec.a"',
    'f[2].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
    'f[3].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    'f[4].jsonPath: Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec',
    'f[5].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
    'f[6].jsonPath: Required value',
    'f[7].jsonPath: Invalid value: ".spec.l[0]": is an invalid path: array notation is not allowed',
    'f[8].jsonPath: Invalid value: ".spec.": is an invalid path: unexpected end of JSON path',
  ]);
});

test('defaults obey the rules of their place', () => {
  const withDefault = (value: string): string[] =>
    validateDefinitionSchema(
      json(
        `{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer","default":${value},"x-kubernetes-validations":[{"rule":"self > 3"},{"rule":"oldSelf.hasValue() || self > 4","optionalOldSelf":true}]}}}}}`,
      ),
      { path, statusSubresource: false },
    ).map(fieldErrorText);
  expect(withDefault('5')).toEqual([]);
  expect(withDefault('3')).toEqual([
    'schema.properties[spec].properties[a].default: Invalid value: 3: failed rule: self > 3',
  ]);
  expect(withDefault('4')).toEqual([
    'schema.properties[spec].properties[a].default: Invalid value: 4: failed rule: oldSelf.hasValue() || self > 4',
  ]);
});
