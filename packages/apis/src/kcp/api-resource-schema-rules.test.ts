import { describe, expect, test } from '@jest/globals';
import { asJson, fieldErrorText, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { apiResourceSchemaErrors } from './api-resource-schema-rules.ts';
import { kcpResources } from './kcp-resources.ts';

const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
const version = (more: JsonObject = {}): JsonObject => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { type: 'object', properties: { b: { type: 'string' }, a: { type: 'integer' } } },
  ...more,
});
const schema = (spec: JsonObject = {}, metadata: KubeObject['metadata'] = {}): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: 'v1.widgets.example.dev', ...metadata },
  spec: { group: 'example.dev', names, scope: 'Namespaced', versions: [version()], ...spec },
});
const errors = (object: KubeObject, old?: KubeObject): string[] =>
  apiResourceSchemaErrors(object, old).map(fieldErrorText);

describe('an APIResourceSchema', () => {
  test('is named after what it describes', () => {
    expect(errors(schema())).toEqual([]);
    const named = (name: string): string[] => errors(schema({}, { name }));
    expect(named('widgets.example.dev')).toEqual([
      'metadata.name: Invalid value: "widgets.example.dev": must end in .widgets.example.dev',
    ]);
    expect(named('1v.widgets.example.dev')).toEqual([
      'metadata.name: Invalid value: "1v.widgets.example.dev": must match ^[a-z]([-a-z0-9]*[a-z0-9])?$ in front of .widgets.example.dev',
    ]);
    expect(errors(schema({ group: '' }, { name: 'v1.widgets.core' }))).toEqual([]);
  });

  test('has a group of its own, or one of Kubernetes that may be brought back', () => {
    const of = (group: string, annotations = {}): string[] =>
      errors(schema({ group }, { name: `v1.widgets.${group}`, annotations }));
    expect(of('core')).toEqual(['spec.group: Invalid value: "core": must be empty string for the core group']);
    expect(of('nodots')).toEqual(['spec.group: Invalid value: "nodots": should be a domain with at least one dot']);
    expect(of('apps')).toEqual([]);
    expect(of('apis.kcp.io')).toEqual([]);
    expect(of('x.k8s.io')).toEqual([
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ]);
    expect(of('x.k8s.io', { 'api-approved.kubernetes.io': 'unapproved, an experiment' })).toEqual([]);
  });

  test('has all names', () => {
    const without = (field: string): string[] => errors(schema({ names: { ...names, [field]: '' } }));
    for (const field of ['plural', 'singular', 'kind', 'listKind'])
      expect(without(field)).toEqual([`spec.names.${field}: Required value`]);
    expect(errors(schema({ names: { ...names, kind: 'lower_case' } }))[0]).toMatch(
      /^spec\.names\.kind: Invalid value: "lower_case": may have mixed case, but should otherwise match: /,
    );
  });

  test('shows its versions in the order of kcp, and their schemas sorted', () => {
    expect(errors(schema({ versions: [version({ storage: false })] }))).toEqual([
      'spec.versions: Invalid value: [{"name":"v1","served":true,"storage":false,"schema":{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"type":"object"},"subresources":{}}]: must have exactly one version marked as storage version',
    ]);
  });

  test('needs a spec', () => {
    const bare = { apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIResourceSchema', metadata: { name: 'a' } };
    expect(errors(bare)).toEqual([
      'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
      'spec.names.plural: Required value',
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
    ]);
  });

  test('is a definition that every consumer can take', () => {
    const of = (more: JsonObject): string[] => errors(schema({ versions: [version(more)] }));
    expect(of({ schema: { type: 'string' } })).toEqual([
      'spec.versions[0].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
    ]);
    expect(of({ schema: { type: 'object', properties: { a: {} } } })).toEqual([
      'spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ]);
    expect(of({ schema: { type: 'object', properties: { a: { properties: { b: 5 } } } } })).toEqual([
      'spec.versions[0].schema: Invalid value: "{\\"properties\\":{\\"a\\":{\\"properties\\":{\\"b\\":5}}},\\"type\\":\\"object\\"}": invalid JSON: json: cannot unmarshal number into Go struct field JSONSchemaProps.properties.properties of type v1.JSONSchemaProps',
    ]);
    const undecodable = (schema: object): string | undefined =>
      of({ schema: { type: 'object', ...schema } })[0]?.replace(/^.* into Go struct field /s, '');
    expect(undecodable({ properties: [{ a: {} }] })).toBe(
      'JSONSchemaProps.properties of type map[string]v1.JSONSchemaProps',
    );
    expect(undecodable({ properties: { a: { items: { maxLength: 'x', type: 5 } } } })).toBe(
      'JSONSchemaProps.properties.items.maxLength of type int64',
    );
    expect(of({ schema: { type: 'object', properties: { a: { type: 'object', properties: { b: null } } } } })).toEqual([
      'spec.versions[0].schema.openAPIV3Schema.properties[a].properties[b].type: Required value: must not be empty for specified object fields',
    ]);
    const badRule = { 'x-kubernetes-validations': [{ rule: 'true', message: {} }] };
    expect(undecodable({ properties: { a: { type: 'array', items: badRule } } })).toBe(
      'JSONSchemaProps.properties.items.x-kubernetes-validations.message of type string',
    );
    expect(undecodable({ required: 'a' })).toBe('JSONSchemaProps.required of type []string');
    expect(of({ deprecationWarning: 'old' })).toEqual([
      'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
    ]);
    expect(of({ additionalPrinterColumns: [{ name: 'A', type: 'bogus', jsonPath: '.spec.a' }] })).toEqual([
      'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "bogus": must be one of boolean,date,integer,number,string',
    ]);
    const selectable = (...paths: string[]): string[] =>
      of({
        schema: { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } },
        selectableFields: paths.map((jsonPath) => ({ jsonPath })),
      });
    expect(selectable('.spec.a')).toEqual([]);
    expect(selectable('.spec.a', '.spec.a', '.spec', '.spec.none')).toEqual([
      'spec.versions[0].selectableFields[1].jsonPath: Duplicate value: ".spec.a"',
      'spec.versions[0].selectableFields[2].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.versions[0].selectableFields[3].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
    ]);
    const rule = { 'x-kubernetes-validations': [{ rule: 'self.a.b == 1' }] };
    expect(of({ schema: { type: 'object', properties: { a: { type: 'string' } }, ...rule } })[0]).toMatch(
      /^spec\.versions\[0\]\.schema\.openAPIV3Schema\.x-kubernetes-validations\[0\]\.rule: Invalid value: .*compilation failed/s,
    );
  });

  test('may have two columns of one name, as a definition may', () => {
    const column = { name: 'A', type: 'string', jsonPath: '.spec.a' };
    const object = schema({
      versions: [version({ additionalPrinterColumns: [column, { ...column, jsonPath: '.b' }] })],
    });
    const kind = kcpResources().find(({ resource }) => resource === 'apiresourceschemas');
    expect(kind?.schema.validate(asJson(object))).toEqual([]);
  });

  test('stays what it is; labels may change', () => {
    expect(errors(schema({}, { labels: { a: 'b' } }), schema())).toEqual([]);
    expect(errors(schema({ scope: 'Cluster' }), schema())).toEqual([
      'spec: Invalid value: {"group":"example.dev","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"type":"object"},"subresources":{}}]}: is immutable',
    ]);
  });
});
