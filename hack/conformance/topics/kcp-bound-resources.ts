import type { Step } from '../../../e2e/conformance/scenario.ts';
import { definition, widgets } from '../definitions.ts';
import type { Body } from '../grammar.ts';
import { apis, binding, create, inCluster, object, readyWorkspace, schemaObject } from '../kcp/kcp-steps.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';
import { objectOperation } from './custom-resources.ts';

/** The APIResourceSchema of a random definition: the same, but for the place of each schema. */
function schemaOfDefinition(random: Random): { readonly body: Body; readonly defined: ReturnType<typeof definition> } {
  const defined = definition(random);
  const { preserveUnknownFields: _old, conversion: _none, ...spec } = defined.spec;
  const versions = (spec['versions'] as Body[]).map((version) => ({
    ...version,
    schema: (version['schema'] as { openAPIV3Schema: Body }).openAPIV3Schema,
  }));
  return { body: schemaObject('widgets', { ...spec, versions }), defined };
}

/** Objects of a bound API with a random structural schema, in every write path. */
export const kcpBoundResources: Topic = {
  name: 'kcp-bound-resources',
  isKcp: true,
  steps(random) {
    const { body, defined } = schemaOfDefinition(random);
    const { isNamespaced, schema } = defined;
    const name = (body['metadata'] as { name: string }).name;
    const group = (body['spec'] as { group: string }).group;
    const inConsumer = (step: Step): Step => ({ ...step, path: inCluster('c', step.path) });
    const steps: Step[] = [
      ...readyWorkspace('w'),
      ...readyWorkspace('c'),
      create(inCluster('w', `${apis('v1alpha1')}/apiresourceschemas`), body),
      create(
        inCluster('w', `${apis()}/apiexports`),
        object('apis.kcp.io/v1alpha2', 'APIExport', 'things', {
          spec: { resources: [{ name: 'widgets', group, schema: name }] },
        }),
        { only: [] },
      ),
      create(inCluster('c', `${apis()}/apibindings`), binding('things', 'root:w-{{run}}', 'things'), {
        until: { status: 201, within: 120 },
        only: [],
      }),
      {
        path: inCluster('c', `${apis()}/apibindings/things`),
        until: { pointer: '/status/phase', equals: 'Bound', within: 120 },
        only: ['/status/phase', '/status/conditions', '/message'],
      },
      ...(isNamespaced ? [inConsumer(createNamespace)] : []),
    ];
    for (let count = 20 + random.int(10); count > 0; count--)
      steps.push(inConsumer(objectOperation(random, schema, widgets(isNamespaced, 'v1'), 'v1')));
    steps.push(inConsumer({ path: widgets(isNamespaced, 'v1') }));
    return steps;
  },
};
