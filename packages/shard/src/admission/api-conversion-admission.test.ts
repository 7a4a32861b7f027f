import { expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import {
  apiConversions,
  builtInResources,
  type APIResourceSchema,
  type VersionConversionRules,
} from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import { ApiConversionAdmission } from './api-conversion-admission.ts';

const version = (name: string, field: string) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { [field]: { type: 'string' } } } } },
});
const schema: APIResourceSchema = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: 'v1.hats.example.dev' },
  spec: {
    group: 'example.dev',
    names: { plural: 'hats', kind: 'Hat' },
    scope: 'Cluster',
    versions: [version('v1', 'first'), version('v2', 'full')],
  },
};
const schemas: Lister<APIResourceSchema> = {
  get: ({ cluster, name }) => ((cluster as string) === 'here' && name === schema.metadata.name ? schema : undefined),
  list: () => [schema],
};
const plugin = new ApiConversionAdmission({ schemas });
const definition = builtInResources().find(({ resource }) => resource === apiConversions.resource);

/** The reason of a rejection; undefined if admitted. */
async function refusal(conversions: VersionConversionRules, cluster = 'here'): Promise<string | undefined> {
  const object = {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIConversion',
    metadata: { name: schema.metadata.name },
    spec: { conversions },
  } as unknown as KubeObject;
  const attributes = { operation: 'CREATE', definition, object, cluster, name: object.metadata.name };
  try {
    await plugin.validate(attributes as unknown as AdmissionAttributes);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^apiconversions.* is forbidden: /, '');
  }
}
const forth = (transformation: string, field = 'spec.first'): VersionConversionRules => [
  { from: 'v1', to: 'v2', rules: [{ field, destination: 'spec.full', transformation }] },
];

test('admits rules that match the schema', async () => {
  expect(await refusal(forth('self.upperAscii()'))).toBeUndefined();
});

test('rejects rules that do not compile or refer to unknown fields, with the field path', async () => {
  expect(await refusal(forth('self.nosuch()'))).toMatch(
    /^\[spec\.conversions\[0\]\.rules\[0\]\.transformation: Invalid value: "self\.nosuch\(\)": .*nosuch/s,
  );
  expect(await refusal(forth('self', 'spec.last'))).toBe(
    '[spec.conversions[0].rules[0].field: Invalid value: "spec.last": field "spec.last" does not exist]',
  );
});

test('admits rules for a schema that does not exist yet, up to a limit', async () => {
  expect(await refusal(forth('self.nosuch()'), 'other')).toBeUndefined();
  const rules = Array.from({ length: 129 }, (_, index) => ({ field: 'spec.first', destination: `spec.f${index}` }));
  expect(await refusal([{ from: 'v1', to: 'v2', rules }], 'other')).toBe(
    '[spec.conversions: Too many: 129: must have at most 128 items]',
  );
});
