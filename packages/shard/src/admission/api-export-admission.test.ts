import { expect, test } from '@jest/globals';
import { encodeJson, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import { apiExports, builtInResources, permissionClaimsAnnotation, resourceSchemasAnnotation } from '@multiplane/apis';
import { ApiExportAdmission } from './api-export-admission.ts';

const plugin = new ApiExportAdmission();

/** The reason of a rejection; undefined if admitted. */
async function refusal(
  version: string,
  spec: JsonObject,
  annotations: Record<string, string> = {},
): Promise<string | undefined> {
  const definition = builtInResources().find(
    (candidate) => candidate.resource === apiExports.resource && candidate.version === version,
  );
  const object: KubeObject = { apiVersion: '', kind: 'APIExport', metadata: { name: 'a', annotations }, spec };
  try {
    await plugin.validate({ operation: 'CREATE', definition, object, name: 'a' } as unknown as AdmissionAttributes);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^apiexports.* is forbidden: /, '');
  }
}

test('requires the resource name of the schema', async () => {
  const of = (schema: string, group = 'example.dev'): Promise<string | undefined> =>
    refusal('v1alpha2', { resources: [{ name: 'widgets', group, schema }] });
  expect(await of('v1.widgets.example.dev')).toBeUndefined();
  expect(await of('v1.widgets.core', '')).toBeUndefined();
  for (const schema of ['v1.gadgets.example.dev', 'widgets.example.dev'])
    expect(await of(schema)).toBe(
      `spec.resources[0].schema: Invalid value: "${schema}": must end in .widgets.example.dev`,
    );
});

test('requires an identity hash in claims for kinds that are not built in', async () => {
  const of = (group: string, resource: string, identityHash = ''): Promise<string | undefined> =>
    refusal('v1alpha2', { permissionClaims: [{ group, resource, verbs: ['*'], identityHash }] });
  for (const [group, resource] of [
    ['', 'configmaps'],
    ['authorization.k8s.io', 'subjectaccessreviews'],
    ['apis.kcp.io', 'anything'],
  ] as const)
    expect(await of(group, resource)).toBeUndefined();
  for (const [group, resource] of [
    ['', 'pods'],
    ['authorization.k8s.io', 'selfsubjectaccessreviews'],
    ['example.dev', 'widgets'],
  ] as const) {
    expect(await of(group, resource)).toBe(
      'spec.permissionClaims[0].identityHash: Invalid value: "": identityHash is required for API types that are not built-in',
    );
    expect(await of(group, resource, 'some')).toBeUndefined();
  }
});

test('requires fields of claims to be those that the kind is selected by, outside of its status', async () => {
  const of = (resource: string, fieldSelector: string, identityHash = ''): Promise<string | undefined> =>
    refusal('v1alpha2', { permissionClaims: [{ resource, verbs: ['*'], identityHash, objects: { fieldSelector } }] });
  const problem = (text: string, why: string): string =>
    `spec.permissionClaims[0].objects.fieldSelector: Invalid value: "${text}": ${why}`;
  for (const text of ['type=Opaque', 'type!=Opaque,metadata.name!=a', 'metadata.namespace=default'])
    expect(await of('secrets', text)).toBeUndefined();
  for (const text of ['tpye!=Opaque', 'spec.type=Opaque'])
    expect(await of('secrets', text)).toBe(problem(text, `field label not supported: ${text.split(/[!=]/)[0]}`));
  for (const [resource, identity] of [
    ['namespaces', ''],
    ['widgets', 'some'],
  ] as const)
    expect(await of(resource, 'status.phase=Active', identity)).toBe(
      problem('status.phase=Active', 'a claim cannot select by a field of the status: status.phase'),
    );
  expect(await of('widgets', 'spec.size=big', 'some')).toBeUndefined();
});

test('validates the annotations of v1alpha1 exports', async () => {
  const schemas = (text: string): Promise<string | undefined> =>
    refusal('v1alpha1', { latestResourceSchemas: ['v1.widgets.example.dev'] }, { [resourceSchemasAnnotation]: text });
  const schema = (name: string): JsonObject => ({ name: 'widgets', group: 'example.dev', schema: name });
  expect(await schemas(encodeJson([schema('v2.widgets.example.dev')]))).toBeUndefined();
  expect(await schemas('not json')).toBe(
    'metadata.annotations[apis.v1alpha2.kcp.io/resource-schemas]: Invalid value: "not json": failed to decode overhanging resource schemas',
  );
  expect(await schemas(encodeJson([schema('v1.widgets.example.dev')]))).toMatch(/: duplicate resource schema$/);

  const claims = (text: string): Promise<string | undefined> =>
    refusal(
      'v1alpha1',
      { permissionClaims: [{ group: '', resource: 'configmaps', all: true }] },
      { [permissionClaimsAnnotation]: text },
    );
  expect(await claims('[{"resource":"configmaps","verbs":["get"]}]')).toBeUndefined();
  expect(await claims('[1]')).toMatch(/: failed to decode overhanging permission claims$/);
  expect(await claims('[{"resource":"secrets","verbs":["get"]}]')).toMatch(
    /: permission claims defined in annotation do not match permission claims defined in spec$/,
  );
});

test('rejects a schema name without a resource like the conversion', async () => {
  expect(await refusal('v1alpha1', { latestResourceSchemas: ['widgets'] })).toBe(
    'failed to convert v1alpha1 APIExport to v1alpha2: invalid schema "widgets": must have at least 3 dot-separated segments',
  );
});
