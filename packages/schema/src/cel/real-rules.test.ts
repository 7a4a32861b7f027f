import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { FieldPath, type Json, type JsonObject } from '@multiplane/apimachinery';
import { validateDefinitionRules } from './definition-rules.ts';
import { compileRules } from './rule-validator.ts';

const folder = new URL('../../../../e2e/fixtures/crds/', import.meta.url);
function schemasOf(file: string): JsonObject[] {
  const { spec } = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: JsonObject } }[] };
  };
  return spec.versions.map((version) => version.schema.openAPIV3Schema);
}

test.each(readdirSync(folder))('the rules of %s compile and are not too expensive', (file) => {
  for (const schema of schemasOf(file)) expect(validateDefinitionRules(schema, FieldPath.of('schema'))).toEqual([]);
});

/** Places where rules refuse an object. */
function refusals(name: string, spec: Json): string[] {
  const [schema] = schemasOf(`${name}.gateway.networking.k8s.io.data.json`);
  const errors = compileRules(schema as JsonObject).validate({ spec }, undefined);
  return errors.map((error) => error.field).toSorted();
}

describe('gateways', () => {
  const listener = (more: JsonObject): JsonObject => ({ name: 'a', port: 80, protocol: 'HTTP', ...more });
  const listeners = (...all: JsonObject[]): string[] => refusals('gateways', { listeners: all });

  test('listeners that fit together', () => {
    const secure = { mode: 'Terminate', certificateRefs: [{ name: 'c' }] };
    expect(
      listeners(
        listener({}),
        listener({ name: 'b', hostname: 'example.com' }),
        listener({ name: 'c', port: 443, protocol: 'HTTPS', tls: secure }),
        listener({ name: 'd', port: 5000, protocol: 'TCP' }),
      ),
    ).toEqual([]);
  });

  test.each<[string, JsonObject[], string[]]>([
    ['two of one name', [listener({}), listener({ port: 81 })], ['spec.listeners']],
    ['two at one address', [listener({}), listener({ name: 'b' })], ['spec.listeners']],
    ['TLS where there is none', [listener({ tls: { mode: 'Passthrough' } })], ['spec.listeners']],
    ['a host name without a protocol for it', [listener({ protocol: 'TCP', hostname: 'x.y' })], ['spec.listeners']],
    [
      'TLS without a certificate',
      [listener({ protocol: 'TLS', tls: { mode: 'Terminate', certificateRefs: [], options: {} } })],
      ['spec.listeners[0].tls'],
    ],
  ])('%s', (_what, given, places) => {
    expect(listeners(...given)).toEqual(places);
  });

  test('addresses', () => {
    const addresses = (...values: Json[]): string[] => refusals('gateways', { listeners: [], addresses: values });
    expect(addresses({ type: 'Hostname', value: '*.example.com' }, { type: 'IPAddress', value: '10.0.0.1' })).toEqual(
      [],
    );
    expect(addresses({ type: 'Hostname', value: 'Not_a_host' })).toEqual(['spec.addresses[0]']);
    const one = { type: 'IPAddress', value: '10.0.0.1' };
    expect(addresses(one, one)).toEqual(['spec.addresses']);
  });

  test('names of annotations', () => {
    const annotations = (values: JsonObject): string[] =>
      refusals('gateways', { listeners: [], infrastructure: { annotations: values } });
    expect(annotations({ 'example.com/a': 'b' })).toEqual([]);
    expect(annotations({ 'bad key': 'b' })).toEqual(['spec.infrastructure.annotations']);
  });
});

describe('HTTP routes', () => {
  const filters = (...all: Json[]): string[] => refusals('httproutes', { rules: [{ matches: [{}], filters: all }] });
  const change = { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'a', value: 'b' }] } };

  test('a filter has the part that its type names, and no other', () => {
    expect(filters(change)).toEqual([]);
    expect(filters({ type: 'RequestHeaderModifier' })).toEqual(['spec.rules[0].filters[0]']);
    expect(
      filters({
        ...change,
        type: 'RequestMirror',
        requestMirror: { backendRef: { group: '', kind: 'Service', name: 'x', port: 80 } },
      }),
    ).toEqual(['spec.rules[0].filters[0]']);
    expect(filters(change, change)).toEqual(['spec.rules[0].filters']);
  });

  test('a request is not both redirected and sent on', () => {
    const redirect = { type: 'RequestRedirect', requestRedirect: { statusCode: 301 } };
    const route = (more: JsonObject): string[] =>
      refusals('httproutes', { rules: [{ matches: [{}], filters: [redirect], ...more }] });
    expect(route({})).toEqual([]);
    expect(route({ backendRefs: [{ group: '', kind: 'Service', name: 'x', port: 80 }] })).toEqual(['spec.rules[0]']);
  });
});
