import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  create,
  defaultBindingHash,
  inCluster,
  mergePatch,
  readyWorkspace,
  settledWorkspace,
  tenancy,
  workspace,
} from '../kcp/kcp-steps.ts';
import { mutated, requestBody } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const collection = inCluster('w', `${tenancy}/workspaces`);
const users = ['admin', 'admin', 'admin', 'user-1', 'masters', 'anonymous'];

const typeReference = (random: Random): Body =>
  random.weighted<Body>([
    [5, { name: 'universal', path: 'root' }],
    [2, { name: 'organization', path: 'root' }],
    [2, { name: 'universal' }],
    [1, { name: 'team', path: 'root' }],
    [1, { name: 'nosuch', path: 'root' }],
    [1, { name: 'universal', path: 'root:nosuch' }],
    [1, { path: 'root' }],
    [1, { name: 'Universal', path: 'root' }],
    [0.5, { name: 'home', path: 'root' }],
    [0.5, { name: 'root', path: 'root' }],
    [0.5, {}],
  ]);

const mount = (random: Random): Body => ({
  ref: random.pick<Body>([
    { apiVersion: 'example.dev/v1', kind: 'Target', name: 'x' },
    { apiVersion: 'example.dev/v1', kind: 'Target' },
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', namespace: 'default' },
    {},
  ]),
});

export const workspaceSpec = (random: Random): Body => ({
  ...random.optional(0.8, { type: () => typeReference(random) }),
  ...random.optional(0.08, {
    cluster: () => random.pick(['x', 'root', '']),
    URL: () => random.pick(['https://example.dev', 'x', '']),
    location: () =>
      random.pick([
        { selector: { matchLabels: { name: 'root' } } },
        { selector: { matchLabels: { a: 'b c' } } },
        { selector: {} },
        {},
      ]),
    mount: () => mount(random),
  }),
});

const changes = (random: Random): unknown =>
  random.weighted<() => unknown>([
    [3, () => ({ metadata: { labels: { [random.pick(['a', 'tenancy.kcp.io/phase', 'core.kcp.io/x'])]: 'b' } } })],
    [2, () => ({ metadata: { annotations: { [random.pick(['a', 'experimental.tenancy.kcp.io/owner'])]: 'b' } } })],
    [2, () => ({ spec: { type: random.pick([null, typeReference(random)]) } })],
    [2, () => ({ spec: { [random.pick(['cluster', 'URL'])]: random.pick([null, '', 'x', 'https://example.dev']) } })],
    [1, () => ({ spec: { location: random.pick([null, { selector: { matchLabels: { a: 'b' } } }]) } })],
    [1, () => ({ spec: oddValue(random) })],
    [1, () => ({ status: { phase: 'Ready', initializers: [] } })],
    [1, () => ({ metadata: { finalizers: random.pick([[], ['a/b'], null]) } })],
  ])();

/** Name and other fields that the whole list depends on are compared for the scenario's own workspaces. */
function operation(random: Random, made: readonly string[]): Step[] {
  const name = made.length > 0 && random.chance(0.8) ? random.pick(made) : random.pick(['a', 'nosuch']);
  const path = `${collection}/${name}`;
  const as = random.pick(users);
  return random.weighted<() => Step[]>([
    [
      4,
      () => [
        {
          as,
          method: 'PATCH',
          path: `${path}${random.pick(['', '', '/status', '?dryRun=All'])}`,
          headers: { 'content-type': mergePatch },
          ...requestBody(random, changes(random)),
        },
        settledWorkspace('/clusters/{{w}}', name),
      ],
    ],
    [1, () => [{ as, path }]],
    [1, () => [{ as, path: collection, unordered: ['/items'] }]],
    [
      1,
      () => [
        {
          path: `${collection}?${random.pick(['labelSelector=tenancy.kcp.io%2Fphase%3DReady', 'fieldSelector=metadata.name%3Da', 'fieldSelector=status.phase%3DReady', 'limit=0'])}`,
          unordered: ['/items'],
        },
      ],
    ],
    [
      1,
      () => [
        {
          as,
          path: inCluster('w', `:${name}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`),
          ignore: ['/metadata/annotations/internal.kcp.io~1replicate', '/status/conditions', '/metadata/generation'],
          mask: [defaultBindingHash],
        },
      ],
    ],
    [
      2,
      () => [
        {
          as,
          method: 'DELETE',
          path: `${path}${random.pick(['', '?dryRun=All', '?propagationPolicy=Foreground', '?propagationPolicy=Orphan'])}`,
          only: ['/kind', '/message', '/reason', '/code', '/spec/type', '/metadata/finalizers'],
        },
        settledWorkspace('/clusters/{{w}}', name),
      ],
    ],
  ])();
}

/** Workspaces in a workspace: creation with every kind of spec, changes, readers, deletion. */
export const kcpWorkspaces: Topic = {
  name: 'kcp-workspaces',
  isKcp: true,
  steps(random) {
    const steps = readyWorkspace('w', random.pick(['universal', 'organization']));
    const made: string[] = [];
    for (let count = 1 + random.int(2); count > 0; count--) {
      const name = random.pick(['a', 'b', 'a-b', 'A', 'x.y', 'a{{run}}', 'root', 'system']);
      const body = mutated(random, workspace(name, workspaceSpec(random)), random.chance(0.25) ? 1 : 0);
      steps.push(
        create(`${collection}${random.pick(['', '', '?dryRun=All', '?fieldValidation=Strict'])}`, body, {
          as: random.pick(users),
          ignore: ['/status/phase'],
        }),
        settledWorkspace('/clusters/{{w}}', name),
      );
      made.push(name);
    }
    for (let count = 2 + random.int(3); count > 0; count--) steps.push(...operation(random, made));
    return steps;
  },
};
