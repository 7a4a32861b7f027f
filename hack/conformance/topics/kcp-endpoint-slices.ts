import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  apis,
  create,
  inCluster,
  mergePatch,
  object,
  readyExport,
  readyWorkspace,
  schemaObject,
  simpleSchema,
  whenIncluded,
} from '../kcp/kcp-steps.ts';
import { mutated } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const slices = inCluster('w', `${apis('v1alpha1')}/apiexportendpointslices`);
const topology = inCluster('w', '/apis/topology.kcp.io/v1alpha1');

export const sliceSpec = (random: Random): Body => ({
  export: random.pick<Body>([
    { name: 'things' },
    { name: 'things', path: 'root:w-{{run}}' },
    { name: 'nosuch' },
    { name: 'tenancy.kcp.io', path: 'root' },
    { path: 'root' },
    {},
  ]),
  ...random.optional(0.4, { partition: () => random.pick(['p', 'q', 'nosuch', '']) }),
});
const shardSelector = (random: Random): Body =>
  random.pick<Body>([
    {},
    { matchLabels: { name: 'root' } },
    { matchLabels: { 'a b': 'c' } },
    { matchExpressions: [{ key: 'name', operator: 'In', values: ['root'] }] },
    { matchExpressions: [{ key: 'name', operator: 'X' }] },
  ]);

function operation(random: Random): Step[] {
  const name = random.pick(['s', 't', 'things']);
  return random.weighted<() => Step[]>([
    [
      4,
      () => [
        create(
          slices,
          mutated(
            random,
            object('apis.kcp.io/v1alpha1', 'APIExportEndpointSlice', name, { spec: sliceSpec(random) }),
            random.chance(0.2) ? 1 : 0,
          ),
          { as: random.pick(['admin', 'admin', 'user-1']), ignore: ['/metadata/generation'] },
        ),
        whenIncluded(`${slices}/${name}`, 'PartitionValid', { ignore: ['/metadata/generation'] }),
      ],
    ],
    [
      2,
      () => [
        {
          method: 'PATCH',
          path: `${slices}/${name}${random.pick(['', '', '/status'])}`,
          headers: { 'content-type': mergePatch },
          body: random.pick<unknown>([
            { spec: sliceSpec(random) },
            { spec: oddValue(random) },
            { spec: { partition: null } },
            { metadata: { labels: { a: 'b' } } },
          ]),
          ignore: ['/metadata/generation', '/status'],
        },
        whenIncluded(`${slices}/${name}`, 'PartitionValid', { ignore: ['/metadata/generation'] }),
      ],
    ],
    [
      2,
      () => [
        create(
          `${topology}/partitions`,
          mutated(
            random,
            object('topology.kcp.io/v1alpha1', 'Partition', random.pick(['p', 'q']), {
              spec: { selector: shardSelector(random) },
            }),
            random.chance(0.3) ? 1 : 0,
          ),
        ),
      ],
    ],
    [
      2,
      () => [
        create(
          `${topology}/partitionsets`,
          mutated(
            random,
            object('topology.kcp.io/v1alpha1', 'PartitionSet', 'ps', {
              spec: random.optional(0.6, {
                dimensions: () => random.some(['name', 'region', 'a b'], 2),
                shardSelector: () => shardSelector(random),
              }),
            }),
            random.chance(0.2) ? 1 : 0,
          ),
          { ignore: ['/status'] },
        ),
        whenIncluded(`${topology}/partitionsets/ps`, 'PartitionsReady', { ignore: ['/metadata/generation'] }),
        {
          path: `${topology}/partitions`,
          unordered: ['/items'],
          only: ['/items/0/spec', '/items/0/metadata/ownerReferences', '/items/1/spec', '/message'],
        },
      ],
    ],
    [1, () => [{ path: slices, unordered: ['/items'], ignore: ['/items/*/metadata/generation'] }]],
    [1, () => [{ method: 'DELETE', path: `${slices}/${name}`, only: ['/status', '/message', '/reason'] }]],
  ])();
}

/** Endpoint slices of exports, partitions and partition sets. */
export const kcpEndpointSlices: Topic = {
  name: 'kcp-endpoint-slices',
  isKcp: true,
  steps(random) {
    const steps = [
      ...readyWorkspace('w'),
      ...readyExport('w', 'things', [schemaObject('widgets', simpleSchema('widgets', 'Widget', 'Namespaced'))]),
      // The slice that the export gets of its own.
      whenIncluded(`${slices}/things`, 'PartitionValid', { only: [] }),
    ];
    for (let count = 4 + random.int(4); count > 0; count--) steps.push(...operation(random));
    return steps;
  },
};
