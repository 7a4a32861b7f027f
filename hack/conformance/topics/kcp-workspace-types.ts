import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  create,
  inCluster,
  mergePatch,
  object,
  readyWorkspace,
  settled,
  settledWorkspace,
  tenancy,
  whenIncluded,
  workspace,
} from '../kcp/kcp-steps.ts';
import { mutated } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const types = inCluster('w', `${tenancy}/workspacetypes`);
const reference = (random: Random): Body =>
  random.pick<Body>([
    { name: 'universal', path: 'root' },
    { name: 'one' },
    { name: 'two', path: 'root:w-{{run}}' },
    { name: 'nosuch' },
    { path: 'root' },
    {},
  ]);
const references = (random: Random): Body[] => random.list(2, () => reference(random));

export const workspaceTypeSpec = (random: Random): Body =>
  random.optional(0.22, {
    initializer: () => random.pick([true, false, 'x']),
    terminator: () => random.chance(0.5),
    extend: () => ({ with: references(random) }),
    additionalWorkspaceLabels: () => random.pick<unknown>([{ a: 'b' }, { 'a b': 'c' }, { a: 1 }]),
    defaultChildWorkspaceType: () => reference(random),
    limitAllowedChildren: () =>
      random.pick<Body>([{ none: true }, { types: references(random) }, { none: true, types: [] }]),
    limitAllowedParents: () => random.pick<Body>([{ none: true }, { types: references(random) }, {}]),
    defaultAPIBindings: () =>
      random.list(2, () =>
        random.pick<Body>([
          { path: 'root', export: 'tenancy.kcp.io' },
          { path: 'root', export: 'nosuch' },
          { export: 'x' },
          {},
        ]),
      ),
    defaultAPIBindingLifecycle: () => random.pick(['InitializeOnly', 'Maintain', 'x']),
    authenticationConfigurations: () => [random.pick<Body>([{ name: 'x' }, {}])],
    initializerPermissions: () => [
      random.pick<Body>([{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }, {}]),
    ],
  });

function change(random: Random, name: string): Step {
  return {
    method: 'PATCH',
    path: `${types}/${name}${random.pick(['', '', '/status'])}`,
    headers: { 'content-type': mergePatch },
    body: random.pick<unknown>([
      { spec: workspaceTypeSpec(random) },
      { spec: null },
      { spec: oddValue(random) },
      { status: { virtualWorkspaces: [] } },
      { metadata: { labels: { a: 'b' } } },
    ]),
  };
}

/** A workspace of the scenario's type, and what the type has made of it. */
function instance(random: Random): Step[] {
  const name = random.pick(['x', 'y']);
  const type = random.pick<Body>([{ name: 'one' }, { name: 'two', path: 'root:w-{{run}}' }]);
  return [
    create(inCluster('w', `${tenancy}/workspaces`), workspace(name, { type }), { ignore: ['/status/phase'] }),
    // Some wait for an initializer that nothing here removes.
    { ...settledWorkspace('/clusters/{{w}}', name), until: { absent: '"phase":"Scheduling"', within: 120 }, only: [] },
    whenIncluded(inCluster('w', `${tenancy}/workspaces/${name}`), '"phase":"Ready"', {
      capture: { child: '/spec/cluster' },
      ignore: ['/status/conditions/*/message'],
    }),
    {
      path: inCluster('child', '/apis/core.kcp.io/v1alpha1/logicalclusters/cluster'),
      only: ['/spec', '/metadata/labels', '/status/initializers', '/status/terminators', '/message'],
    },
    {
      path: inCluster('child', '/apis/apis.kcp.io/v1alpha2/apibindings'),
      only: ['/items/0/spec', '/items/1/spec', '/message'],
    },
  ];
}

/** Types of workspaces, and workspaces of these types. */
export const kcpWorkspaceTypes: Topic = {
  name: 'kcp-workspace-types',
  isKcp: true,
  steps(random) {
    const steps = readyWorkspace('w');
    for (const name of random.some(['one', 'two', 'universal', 'A b'], 2)) {
      const body = object('tenancy.kcp.io/v1alpha1', 'WorkspaceType', name, { spec: workspaceTypeSpec(random) });
      steps.push(
        create(types, mutated(random, body, random.chance(0.2) ? 1 : 0), { ignore: ['/status/conditions'] }),
        settled(`${types}/${name}`, ['"status":{}'], { until: { contains: '"virtualWorkspaces"', within: 4 } }),
      );
    }
    for (let count = 1 + random.int(3); count > 0; count--)
      steps.push(
        ...random.weighted<() => Step[]>([
          [2, () => [change(random, random.pick(['one', 'two']))]],
          [4, () => instance(random)],
          [1, () => [{ path: types, unordered: ['/items'] }]],
          [1, () => [{ method: 'DELETE', path: `${types}/${random.pick(['one', 'nosuch'])}`, ignore: ['/metadata'] }]],
        ])(),
      );
    return steps;
  },
};
