import { describe, expect, test } from '@jest/globals';
import {
  apiVersionOf,
  asJson,
  fieldErrorBody,
  FieldPath,
  validateObjectMeta,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { builtInResources } from './built-in-resources.ts';
import type { ResourceDefinition, StrategyContext } from './resource-definition.ts';
import { foundErrors } from '../test/found-errors.ts';
import { recordedRefusals } from '../test/recorded-refusals.data.ts';

/** Long texts of name rules, written short in what is recorded. */
const nameRules: Readonly<Record<string, string>> = {
  '<qualified>':
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  '<subdomain>':
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  '<label>':
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
};

/** A certificate request that is well-formed: what is recorded names it `<request>`. */
const request = [
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQ1pqQ0NBVTRDQVFBd0lURU5NQXNHQTFVRUNnd0VkR1ZoYlRF',
  'UU1BNEdBMVVFQXd3SGMyOXRaVzl1WlRDQwpBU0l3RFFZSktvWklodmNOQVFFQkJRQURnZ0VQQURDQ0FRb0NnZ0VCQUxabFZDL2Ft',
  'cVNyVWU1Q0FGck1uc1QvCjlHek1neDVaVzlYNEZDOVdJYjhkZ2ZhajRrZ3kwVUNhSUNza3IwdzQwRVlmRUJDajZDOVpxanJYd3N6',
  'TjBZUmIKOU5zWWUwaHNyK1h6c1orUkp3N1hXeFBVSkJ2L0wwc3lJUTlGWkxYYjZpektHNzd6YmFpY2xiVXJwUnRhb0F4VAp0eDNz',
  'VVVMcGwwVmtZenB5Qko4YUFHTEtFT3A0YUJlaXZvc3I5Wm5EWkwzREJld1FqTm03KzUwOHdwb3pnYytVCnh3RFl0WWJObnVHOWZn',
  'SCtmeW5GRTZyN3RZWTRHLzB5bUplczAzVVZ0UGF0SHdiRk91NEZPWm9mU0lqUDk1UVcKMG9TcmEzODc4WkVjZ3JrcDFhZGlHMlUx',
  'TkJwTzliQ0h6ZnpTbzcrZGVXQXpFSloydG1CL2hiekRXeDRoQkxVQwpBd0VBQWFBQU1BMEdDU3FHU0liM0RRRUJDd1VBQTRJQkFR',
  'Q1I5N2pvYWQ3UEMxWS94cisvUTg4ZWcvSncwNlI5CkF4Nklqc0hQb0xORGtwbXhkRk5TRTUzQ1h2TVMvSlRycHZoYUpIdmdIeEtF',
  'ZlRVZmxDU0RndDNyTzUxVCtMV3YKbHd2NjNEelNobXB0ZVBndEcxUFl0V2xWMXMrdGowc0R3emZlRWZVbUFUYW5RL3dscnd6UnJB',
  'aXJtVGFlUGZ4Mgp3bmZRNXZyT1JxZml4T211cjR0TXBoV3VKZXJESTBWdnJKdTQxZXF5b2dzNytaQXZ4RndHVnEybWIzTFlvSWdH',
  'ClhPbmRRQTdSVW9MUlNZMFk5WmoxNW90Vmx3aUNzRkVramp3ak03YXRLeHQ4UTREdXdvM1g0NGpBZWEzWHVIeWwKQU1EczhpK08r',
  'cVFpcFV4anAyTnF2SEF2YUZtcHNoYk5kdUsyRENDRnQyU0x0YVl3K2NsQThnRmkKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVT',
  'VC0tLS0tCg==',
].join('');

const context: StrategyContext = {
  user: { name: 'alice', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: 'ns',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
};

function definitionOf(name: string): ResourceDefinition {
  const found = builtInResources().find((definition) => `${apiVersionOf(definition)} ${definition.resource}` === name);
  if (found === undefined) throw new Error(`no definition ${name}`);
  return found;
}

/** What a create does up to its validation. */
function refusals(definition: ResourceDefinition, body: string): string[] {
  const object = {
    ...(JSON.parse(body.replace('<request>', request)) as JsonObject),
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
  } as unknown as KubeObject;
  object.metadata ??= {};
  if (definition.namespaced) object.metadata.namespace = 'ns';
  definition.schema.decodeTyped(asJson(object));
  definition.schema.applyDefaults(asJson(object));
  definition.strategy.prepareForCreate(context, object);
  const errors = [
    ...validateObjectMeta(object.metadata, {
      namespaced: definition.namespaced,
      validateName: (name) => definition.strategy.validateName(name),
      path: FieldPath.of('metadata'),
      standardFinalizers: definition.strategy.metadataChecks.standardFinalizers,
    }),
    ...foundErrors(definition.strategy.validate(context, object)),
  ];
  return errors.map((error) => `${error.field} | ${error.type} | ${fieldErrorBody(error)}`).sort();
}

const inFull = (text: string): string =>
  text.replaceAll(/<(?:qualified|subdomain|label|label 1035)>/g, (name) => nameRules[name] ?? name);

describe.each(recordedRefusals)('%s', (name, cases) => {
  test.each(cases)('%s', (body, causes) => {
    expect(refusals(definitionOf(name), body)).toEqual(causes.map(inFull).sort());
  });
});
