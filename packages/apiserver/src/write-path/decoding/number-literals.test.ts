import { expect, test } from '@jest/globals';
import { Pipeline } from '../../../test/pipeline.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const merge = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };

const patches = (literal: string): readonly (readonly [Record<string, string>, string])[] => [
  [merge, `{"spec":{"leaseTransitions":${literal}}}`],
  [jsonPatch, `[{"op":"add","path":"/spec","value":{"leaseTransitions":${literal}}}]`],
  [
    jsonPatch,
    `[{"op":"add","path":"/spec","value":{"leaseTransitions":${literal}}},{"op":"copy","from":"/spec/leaseTransitions","path":"/spec/leaseDurationSeconds"}]`,
  ],
];

test('an integer field refuses the literal of a float in a JSON or merge patch, as in a PUT', async () => {
  const on = await Pipeline.open();
  await on.must(201, 'POST', leases, { metadata: { name: 'a' } });
  for (const literal of ['1.0', '1e3'])
    for (const [headers, body] of patches(literal)) {
      const { message } = await on.must(422, 'PATCH', `${leases}/a`, body, headers);
      expect(message).toContain(`\\"leaseTransitions\\":${literal}`);
      expect(message).toMatch(
        new RegExp(
          `json: cannot unmarshal number ${literal} into Go struct field LeaseSpec.spec.leaseTransitions of type int32$`,
        ),
      );
    }
  for (const [headers, body] of patches('2')) {
    const { spec } = await on.must(200, 'PATCH', `${leases}/a`, body, headers);
    expect(spec).toMatchObject({ leaseTransitions: 2 });
  }
});

test('a JSON patch compares literals by their text', async () => {
  const on = await Pipeline.open();
  await on.must(201, 'POST', leases, { metadata: { name: 'a' }, spec: { leaseTransitions: 1 } });
  const compare = (literal: string) => `[{"op":"test","path":"/spec/leaseTransitions","value":${literal}}]`;
  const { reason } = await on.must(422, 'PATCH', `${leases}/a`, compare('1.0'), jsonPatch);
  expect(reason).toBe('Invalid');
  await on.must(200, 'PATCH', `${leases}/a`, compare('1'), jsonPatch);
});
