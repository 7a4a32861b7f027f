import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  apis,
  binding,
  create,
  defaultBindingHash,
  inCluster,
  mergePatch,
  object,
  readyExport,
  readyWorkspace,
  schemaObject,
  simpleSchema,
} from '../kcp/kcp-steps.ts';
import { mutated } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const bindings = (version = 'v1alpha2'): string => inCluster('c', `${apis(version)}/apibindings`);
const provider = 'root:w-{{run}}';

const claimOf = (resource: string, verbs: readonly string[]): Body => ({ group: '', resource, verbs: [...verbs] });

const selector = (random: Random): Body =>
  random.pick<Body>([
    { matchAll: true },
    { matchAll: true },
    { matchLabels: { a: 'b' } },
    { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
    { matchExpressions: [{ key: 'a', operator: 'X' }] },
    { matchAll: true, matchLabels: { a: 'b' } },
    {},
  ]);

export const acceptance = (random: Random): Body => ({
  ...claimOf(
    random.pick(['configmaps', 'configmaps', 'secrets', 'namespaces']),
    random.pick([['*'], ['get'], ['get', 'list', 'create']]),
  ),
  state: random.pick(['Accepted', 'Accepted', 'Rejected', 'X']),
  selector: selector(random),
});

const bindingBody = (random: Random, name: string): Body =>
  mutated(
    random,
    binding(
      name,
      random.weighted([
        [6, provider],
        [1, 'root:nosuch'],
        [1, 'root'],
        [0.5, ''],
      ]),
      random.weighted([
        [6, 'things'],
        [1, 'others'],
        [1, 'nosuch'],
      ]),
      random.optional(0.5, { permissionClaims: () => random.list(2, () => acceptance(random)) }),
    ),
    random.chance(0.2) ? 1 : 0,
  );

/** Reads a binding when no controller has more to do: it is bound, or says for what it waits. */
const settledBinding = (name: string): Step => ({
  path: `${bindings()}/${name}`,
  until: { contains: '"type":"Ready"', absent: ['"phase":"","', '"status":{}'], within: 120 },
  ignore: ['/metadata/generation'],
});

function afterwards(random: Random, name: string): Step[] {
  const path = `${bindings(random.pick(['v1alpha2', 'v1alpha2', 'v1alpha1']))}/${name}`;
  return random.weighted<() => Step[]>([
    [
      3,
      () => [
        {
          method: 'PATCH',
          path: `${path}${random.pick(['', '', '/status'])}`,
          headers: { 'content-type': mergePatch },
          body: random.pick<unknown>([
            { spec: { permissionClaims: random.list(2, () => acceptance(random)) } },
            { spec: { reference: { export: { name: random.pick(['others', 'things']), path: provider } } } },
            { spec: oddValue(random) },
            { status: { phase: 'Binding' } },
          ]),
          ignore: ['/metadata/generation', '/status'],
        },
        settledBinding(name),
      ],
    ],
    [1, () => [{ path }]],
    [
      1,
      () => [
        {
          path: bindings(),
          unordered: ['/items'],
          // Labels are hashes, by which items would be sorted.
          ignore: ['/items/*/metadata/generation', '/items/*/metadata/labels'],
          mask: [defaultBindingHash],
        },
      ],
    ],
    [
      1,
      () => [
        { path: inCluster('c', '/apis/example.dev/v1'), ignore: ['/resources/*/storageVersionHash'] },
        {
          path: inCluster('c', '/apis/core.kcp.io/v1alpha1/logicalclusters/cluster'),
          only: ['/metadata/annotations', '/message'],
          mask: [defaultBindingHash],
        },
      ],
    ],
    [
      2,
      () => [
        create(
          inCluster('c', '/apis/example.dev/v1/namespaces/default/widgets'),
          object('example.dev/v1', 'Widget', 'a', {
            spec: { size: random.pick<unknown>([1, 'x']) },
            ...random.optional(0.3, { metadata: () => ({ name: 'a', finalizers: ['example.dev/wait'] }) }),
          }),
        ),
        { path: inCluster('c', '/apis/example.dev/v1/namespaces/default/widgets/a') },
      ],
    ],
    [
      2,
      () => [
        create(
          inCluster('c', '/api/v1/namespaces/default/configmaps'),
          object('v1', 'ConfigMap', 'm', { metadata: { name: 'm', labels: { a: 'b' } } }),
        ),
        { path: inCluster('c', '/api/v1/namespaces/default/configmaps/m'), only: ['/metadata/name', '/message'] },
      ],
    ],
    [
      1,
      () => [
        { method: 'DELETE', path, ignore: ['/metadata/generation', '/metadata/deletionTimestamp', '/status'] },
        { path: `${bindings()}/${name}`, until: { status: 404, within: 120 }, only: ['/message', '/status/phase'] },
        { path: inCluster('c', '/apis/example.dev/v1/widgets'), only: ['/message', '/items'] },
      ],
    ],
  ])();
}

/** Bindings of two exports that claim resources, with conflicts between them and with definitions of the consumer. */
export const kcpApiBindings: Topic = {
  name: 'kcp-api-bindings',
  isKcp: true,
  steps(random) {
    const widgets = schemaObject('widgets', simpleSchema('widgets', 'Widget', 'Namespaced'));
    const other = random.pick([
      schemaObject('gadgets', simpleSchema('gadgets', 'Gadget', 'Cluster')),
      schemaObject('widgets', simpleSchema('widgets', 'Widget', 'Cluster'), 'v2'),
      schemaObject('gadgets', simpleSchema('gadgets', 'Widget', 'Namespaced')),
    ]);
    const permissionClaims = [claimOf('configmaps', ['*']), claimOf('secrets', ['get', 'list'])];
    const steps = [
      ...readyWorkspace('w'),
      ...readyWorkspace('c'),
      ...readyExport('w', 'things', [widgets], random.chance(0.7) ? { permissionClaims } : {}),
      ...readyExport('w', 'others', [other]),
    ];
    const names: string[] = [];
    for (let count = 1 + random.int(2); count > 0; count--) {
      const name = random.pick(['one', 'two', 'A']);
      names.push(name);
      steps.push(
        create(bindings(), bindingBody(random, name), {
          as: random.pick(['admin', 'admin', 'admin', 'user-1']),
          ignore: ['/status', '/metadata/generation'],
        }),
        settledBinding(name),
      );
    }
    for (let count = 2 + random.int(3); count > 0; count--) steps.push(...afterwards(random, random.pick(names)));
    return steps;
  },
};
