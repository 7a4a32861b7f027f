import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import {
  apis,
  create,
  inCluster,
  mergePatch,
  object,
  readyWorkspace,
  schemaObject,
  settled,
  simpleSchema,
  whenIncluded,
} from '../kcp/kcp-steps.ts';
import { mutated, mutationCount } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import { schemaOf } from '../structural-schemas.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const schemas = inCluster('w', `${apis('v1alpha1')}/apiresourceschemas`);
const exportsOf = (version: string): string => inCluster('w', `${apis(version)}/apiexports`);

/** An APIResourceSchema that is nearly valid. */
export function resourceSchema(random: Random): Body {
  const plural = random.pick(['widgets', 'gadgets', 'configmaps']);
  const spec = simpleSchema(
    plural,
    random.pick(['Widget', 'Gadget', 'widget']),
    random.pick(['Cluster', 'Namespaced']),
  );
  const [version = {}] = spec['versions'] as Body[];
  if (random.chance(0.5)) version['schema'] = { type: 'object', properties: { spec: schemaOf(random) } };
  Object.assign(
    version,
    random.optional(0.15, {
      deprecated: () => true,
      deprecationWarning: () => 'old',
      additionalPrinterColumns: () => [
        { name: 'Size', type: random.pick(['integer', 'x']), jsonPath: random.pick(['.spec.size', 'spec.size', '']) },
      ],
      subresources: () => ({ status: {}, scale: { specReplicasPath: '.spec.r', statusReplicasPath: '.status.r' } }),
    }),
  );
  if (random.chance(0.2))
    (spec['versions'] as Body[]).push({
      ...structuredClone(version),
      name: random.pick(['v2', 'v1', 'V1']),
      storage: random.chance(0.2),
    });
  Object.assign(
    spec,
    random.optional(0.12, {
      group: () => random.pick(['', 'example', 'Example.dev', 'apps', 'x.kcp.io', 'x.k8s.io']),
      conversion: () => ({ strategy: random.pick(['None', 'Webhook']) }),
    }),
  );
  const body = schemaObject(plural, spec, random.pick(['v1', 'v1', 'today', 'A', '']));
  return mutated(random, body, random.chance(0.4) ? mutationCount(random) : 0);
}

const permissionClaim = (random: Random, version: string): Body => ({
  ...random.pick<Body>([
    { group: '', resource: 'configmaps' },
    { resource: 'secrets' },
    { group: 'rbac.authorization.k8s.io', resource: 'roles' },
    { group: 'other.dev', resource: 'things' },
    { group: 'apis.kcp.io', resource: 'apibindings' },
    { group: 'example.dev', resource: 'widgets', identityHash: 'abc' },
  ]),
  ...(version === 'v1alpha1'
    ? random.optional(0.6, {
        all: () => true,
        resourceSelector: () => [random.pick<Body>([{ name: 'a' }, { namespace: 'b' }, {}])],
      })
    : { verbs: random.pick<unknown>([['*'], ['get', 'list'], ['get'], [], ['x', '*'], undefined]) }),
});

export const exportSpec = (random: Random, version: string): Body => ({
  ...(version === 'v1alpha1'
    ? {
        latestResourceSchemas: random.list(2, () =>
          random.pick(['v1.widgets.example.dev', 'v1.gadgets.example.dev', 'x']),
        ),
      }
    : {
        resources: random.list(2, () => ({
          name: random.pick(['widgets', 'gadgets']),
          group: 'example.dev',
          schema: random.pick(['v1.widgets.example.dev', 'v1.gadgets.example.dev', 'v1.x.example.dev', 'x']),
          ...random.optional(0.5, {
            storage: () => random.pick<unknown>([{ crd: {} }, {}, { crd: {}, virtual: {} }, null]),
          }),
        })),
      }),
  ...random.optional(0.25, {
    permissionClaims: () => random.list(3, () => permissionClaim(random, version)),
    maximalPermissionPolicy: () => random.pick<Body>([{ local: {} }, {}, { local: {}, x: 1 }]),
    identity: () => random.pick<Body>([{ secretRef: { namespace: 'default', name: 'mine' } }, { secretRef: {} }, {}]),
  }),
});

/** Schemas and exports, created and changed in both versions, with everything that their controllers make of them. */
export const kcpApiExports: Topic = {
  name: 'kcp-api-exports',
  isKcp: true,
  steps(random) {
    const steps = readyWorkspace('w');
    for (let count = 6 + random.int(8); count > 0; count--) steps.push(create(schemas, resourceSchema(random)));
    steps.push({ path: schemas, unordered: ['/items'] });
    for (let count = 2 + random.int(2); count > 0; count--) steps.push(...exportSteps(random));
    return steps;
  },
};

function exportSteps(random: Random): Step[] {
  const version = random.pick(['v1alpha2', 'v1alpha2', 'v1alpha1']);
  const other = random.pick(['v1alpha1', 'v1alpha2']);
  const name = random.pick(['things', 'x', 'A', 'a.b']);
  const body = object(`apis.kcp.io/${version}`, 'APIExport', name, { spec: exportSpec(random, version) });
  return [
    create(exportsOf(version), mutated(random, body, random.chance(0.25) ? 1 : 0)),
    // The secret of an identity that the export names is missing here, so such an export never gets an identity.
    whenIncluded(`${exportsOf(version)}/${name}`, '"identityHash"', {
      capture: { identity: '/status/identityHash' },
      ignore: ['/metadata/generation'],
    }),
    { path: `${exportsOf(other)}/${name}`, ignore: ['/metadata/generation'] },
    {
      path: inCluster('w', `/api/v1/namespaces/kcp-system/secrets/${name}`),
      only: ['/metadata/name', '/type', '/metadata/labels', '/metadata/annotations', '/message'],
    },
    whenIncluded(inCluster('w', `${apis('v1alpha1')}/apiexportendpointslices/${name}`), 'PartitionValid', {
      ignore: ['/metadata/generation'],
    }),
    {
      method: 'PATCH',
      path: `${exportsOf(other)}/${name}${random.pick(['', '', '/status', '?dryRun=All'])}`,
      headers: { 'content-type': mergePatch },
      body: random.pick<unknown>([
        { spec: exportSpec(random, other) },
        { spec: { identity: { secretRef: { namespace: 'default', name: 'other' } } } },
        { spec: oddValue(random) },
        { status: { identityHash: 'x' } },
        { metadata: { annotations: { 'kcp.io/path': 'x' } } },
      ]),
      ignore: ['/metadata/generation'],
    },
    settled(`${exportsOf(version)}/${name}`, [], { ignore: ['/metadata/generation'] }),
    ...(random.chance(0.4)
      ? [{ method: 'DELETE', path: `${exportsOf(version)}/${name}`, ignore: ['/metadata'] } as Step]
      : []),
  ];
}
