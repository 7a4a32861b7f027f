import type { Step } from '../../e2e/conformance/scenario.ts';
import type { Body } from './grammar.ts';
import type { Random } from './random.ts';
import { schemaOf, valueFor } from './structural-schemas.ts';

/** A definition of the scenario's own group with one or two versions. */
export interface Definition {
  readonly object: Body;
  readonly spec: Body;
  readonly schema: Body;
  readonly isNamespaced: boolean;
}

const group = 'g{{run}}.example.com';
export const definitionPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`;

const column = (random: Random): Body => ({
  name: random.pick(['A', 'B', 'Age']),
  type: random.pick(['string', 'integer', 'date', 'boolean', 'number', 'string']),
  jsonPath: random.pick([
    '.spec.a',
    '.spec.b',
    '.metadata.creationTimestamp',
    '.metadata.name',
    '.spec',
    '.spec.c[0]',
    '.spec.*',
  ]),
  ...random.optional(0.3, {
    priority: () => random.int(2),
    format: () => random.pick(['int32', 'date-time', 'x']),
    description: () => 'd',
  }),
});

function version(random: Random, name: string, isStorage: boolean, spec: Body): Body {
  return {
    name,
    served: true,
    storage: isStorage,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec,
          status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          ...(random.chance(0.1)
            ? { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } } }
            : {}),
        },
        ...(random.chance(0.1) ? { required: ['spec'] } : {}),
      },
    },
    ...random.optional(0.35, {
      subresources: () => ({
        ...random.optional(0.7, {
          status: () => ({}),
          scale: () => ({
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            ...random.optional(0.4, { labelSelectorPath: () => '.status.selector' }),
          }),
        }),
      }),
      additionalPrinterColumns: () => random.list(3, () => column(random)),
    }),
    ...random.optional(0.1, {
      deprecated: () => true,
      selectableFields: () => [{ jsonPath: '.spec.a' }],
    }),
  };
}

export function definition(random: Random): Definition {
  const schema: Body = { ...schemaOf(random, 0) };
  const root = random.chance(0.85)
    ? { ...objectSchema(random), ...random.optional(0.05, { nullable: () => true }) }
    : schema;
  const isNamespaced = random.chance(0.6);
  const spec: Body = {
    group,
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    names: {
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      ...random.optional(0.2, {
        listKind: () => 'WidgetList',
        shortNames: () => ['wd{{run}}'],
        categories: () => ['all'],
      }),
    },
    versions: [
      version(random, 'v1', true, root),
      ...(random.chance(0.3) ? [version(random, random.pick(['v1alpha1', 'v2']), false, root)] : []),
    ],
    ...random.optional(0.1, {
      preserveUnknownFields: () => random.chance(0.2),
      conversion: () => ({ strategy: 'None' }),
    }),
  };
  return { object: definitionObject(spec), spec, schema: root, isNamespaced };
}

function objectSchema(random: Random): Body {
  const names = ['a', 'b', 'c', ...random.some(['replicas', 'd'], 2)];
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((name) => [name, name === 'replicas' ? { type: 'integer', format: 'int32' } : schemaOf(random, 1)]),
    ),
    ...random.optional(0.15, { required: () => random.some(['a', 'b'], 2) }),
  };
}

export const definitionObject = (spec: Body): Body => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec,
});

/** Creates a definition and waits until its resource is served; what is refused is not waited for longer than a second. */
export const createDefinition = ({ object, isNamespaced }: Definition): Step[] => [
  {
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: object,
    ignore: ['/status'],
  },
  {
    path: definitionPath,
    until: { pointer: '/status/conditions/1/status', equals: 'True', within: 3 },
    ignore: ['/status/conditions/0/lastTransitionTime'],
  },
  { path: `${widgets(isNamespaced, 'v1')}?limit=1`, until: { status: 200, within: 3 }, only: [] },
];

export const widgets = (isNamespaced: boolean, version: string): string =>
  `/apis/${group}/${version}${isNamespaced ? '/namespaces/t-{{run}}' : ''}/widgets`;

export const widget = (random: Random, schema: Body, version: string, name: string): Body => ({
  apiVersion: `${group}/${version}`,
  kind: 'Widget',
  metadata: { name },
  spec: valueFor(random, schema),
});

/** Ends the scenario's own API, so that a long run does not slow down discovery. */
export const deleteDefinition: Step = { method: 'DELETE', path: definitionPath, only: [], until: { within: 0 } };
