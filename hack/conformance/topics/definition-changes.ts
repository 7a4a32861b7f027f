import type { Step } from '../../../e2e/conformance/scenario.ts';
import { definition, definitionObject, definitionPath, deleteDefinition } from '../definitions.ts';
import type { Body } from '../grammar.ts';
import { mutated, requestBody } from '../mutations.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
// Conditions arrive when a controller has looked at the definition, which differs from moment to moment.
const ignore = ['/status'];

const nearMisses: readonly ((spec: Body, random: Random) => void)[] = [
  (spec, random) => (spec['group'] = random.pick(['', 'x', 'Example.com', 'other.example.com', 'g{{run}}.k8s.io'])),
  (spec, random) => (spec['scope'] = random.pick(['', 'namespaced', 'Cluster', null])),
  (spec) => (spec['versions'] = []),
  (spec, random) =>
    (spec['conversion'] = random.pick([
      { strategy: 'Webhook' },
      { strategy: 'x' },
      {},
      {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://example.com' } },
      },
    ])),
  (spec, random) => (spec['preserveUnknownFields'] = random.chance(0.5)),
  (spec, random) =>
    Object.assign(spec['names'] as Body, {
      [random.pick(['plural', 'kind', 'singular', 'listKind'])]: random.pick(['', 'Widgets', 'a b', 'Widget', 'x']),
    }),
  (spec, random) =>
    Object.assign(spec['names'] as Body, {
      shortNames: random.pick([['A'], ['a', 'a'], ['']]),
      categories: ['All', ''],
    }),
  (spec, random) =>
    change(
      spec,
      random,
      random.pick<Body>([
        { served: false },
        { storage: false },
        { storage: true },
        { name: 'V1' },
        { name: '' },
        { deprecated: true },
        { deprecationWarning: 'x' },
        { schema: null },
        { schema: {} },
      ]),
    ),
  (spec, random) =>
    change(spec, random, {
      additionalPrinterColumns: random.pick([
        [{ name: '', type: 'string', jsonPath: '.a' }],
        [{ name: 'a', type: 'x', jsonPath: 'a' }],
        [{ name: 'a', type: 'string', jsonPath: '' }],
        [{ name: 'a', type: 'string', jsonPath: '.a[', format: 'y' }],
        [{ name: 'a', type: 'integer', jsonPath: '.a', format: 'y' }],
      ]),
    }),
  (spec, random) =>
    change(spec, random, {
      subresources: random.pick([
        { scale: {} },
        { scale: { specReplicasPath: '.x', statusReplicasPath: '.status.a' } },
        { scale: { specReplicasPath: '.spec.a[0]', statusReplicasPath: 'status', labelSelectorPath: '.a' } },
        { status: null },
        {},
      ]),
    }),
  (spec, random) =>
    change(spec, random, {
      selectableFields: random.pick([
        [{ jsonPath: '.spec.none' }],
        [{ jsonPath: '.metadata.name' }],
        [{ jsonPath: 'x' }],
        [{ jsonPath: '.spec.a' }, { jsonPath: '.spec.a' }],
      ]),
    }),
  (spec, random) => changeSchema(spec, random),
  (spec, random) => changeSchema(spec, random),
  (spec, random) => changeSchema(spec, random),
];

function change(spec: Body, random: Random, members: Body): void {
  const versions = spec['versions'] as Body[];
  if (versions.length > 0) Object.assign(random.pick(versions), structuredClone(members));
}

const schemaChanges: readonly Body[] = [
  { type: 'x' },
  { type: '' },
  { $ref: '#/a' },
  { uniqueItems: true },
  { additionalProperties: false },
  { properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
  { type: 'array' },
  { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'map' },
  {
    type: 'array',
    items: { type: 'object', properties: { a: { type: 'string' } } },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['a'],
  },
  { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
  { type: 'array', items: [{ type: 'string' }] },
  { 'x-kubernetes-list-type': 'x' },
  { 'x-kubernetes-map-type': 'x' },
  { 'x-kubernetes-int-or-string': true, type: 'integer' },
  { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
  { 'x-kubernetes-embedded-resource': true },
  { 'x-kubernetes-preserve-unknown-fields': false },
  { anyOf: [{ type: 'string' }] },
  { allOf: [{ properties: { z: { type: 'string' } } }] },
  { not: { default: 1 } },
  { oneOf: [{ nullable: true }] },
  { pattern: '(' },
  { type: 'string', default: 1 },
  { type: 'integer', default: '1' },
  { type: 'object', properties: { a: { type: 'string' } }, default: { b: 1 } },
  { type: 'string', enum: [] },
  { type: 'string', enum: [1] },
  { type: 'integer', minimum: 5, maximum: 1 },
  { type: 'string', maxLength: -1 },
  { 'x-kubernetes-validations': [{ rule: '' }] },
  { 'x-kubernetes-validations': [{ rule: 'self.x' }] },
  { 'x-kubernetes-validations': [{ rule: '1' }] },
  { 'x-kubernetes-validations': [{ rule: 'true', message: ' ' }] },
  { 'x-kubernetes-validations': [{ rule: 'true', reason: 'x', fieldPath: 'a' }] },
  { 'x-kubernetes-validations': [{ rule: 'true', messageExpression: '1' }] },
  { 'x-kubernetes-validations': [{ rule: 'self == oldSelf', optionalOldSelf: true }] },
  { nullable: true, default: null },
  { definitions: { a: {} } },
  { dependencies: { a: ['b'] } },
  { patternProperties: { a: { type: 'string' } } },
  { id: 'x' },
  { title: 't', description: 'd', example: 1, externalDocs: { url: 'https://example.com' } },
];

function changeSchema(spec: Body, random: Random): void {
  const [first] = spec['versions'] as Body[];
  let schema = ((first?.['schema'] as Body | null | undefined)?.['openAPIV3Schema'] ?? {}) as Body;
  while (random.chance(0.75)) {
    const properties = schema['properties'] as Record<string, Body> | undefined;
    const names = Object.keys(properties ?? {});
    const next = names.length > 0 ? properties?.[random.pick(names)] : (schema['items'] as Body | undefined);
    if (typeof next !== 'object' || next === null) break;
    schema = next;
  }
  Object.assign(schema, structuredClone(random.pick(schemaChanges)));
}

function changed(random: Random, spec: Body): Body {
  const copy = structuredClone(spec);
  for (
    let count = random.weighted([
      [1, 0],
      [5, 1],
      [2, 2],
    ]);
    count > 0;
    count--
  ) {
    try {
      random.pick(nearMisses)(copy, random);
    } catch {
      // An earlier change removed what this one is about.
    }
  }
  return random.chance(0.15) ? mutated(random, copy, 1) : copy;
}

/** Definitions that are valid, nearly valid and absurd, and their changes. */
export const definitionChanges: Topic = {
  name: 'definitions',
  steps(random) {
    const { spec } = definition(random);
    const steps: Step[] = [];
    for (let count = 2 + random.int(3); count > 0; count--)
      steps.push({
        method: 'POST',
        path: `${path}?dryRun=All`,
        ...requestBody(random, definitionObject(changed(random, spec))),
        ignore,
      });
    steps.push({
      method: 'POST',
      path,
      body: definitionObject(random.chance(0.7) ? spec : changed(random, spec)),
      ignore,
    });
    // What the controllers of definitions write is not to race with the changes that follow.
    steps.push({
      path: definitionPath,
      until: { pointer: '/status/conditions/1/status', equals: 'True', within: 2 },
      only: [],
    });
    for (let count = 2 + random.int(3); count > 0; count--)
      steps.push(
        random.weighted<() => Step>([
          [
            3,
            () => ({
              method: 'PATCH',
              path: definitionPath,
              headers: { 'content-type': 'application/merge-patch+json' },
              body: { spec: changed(random, spec) },
              ignore,
            }),
          ],
          [1, () => ({ path: definitionPath, ignore })],
          [
            1,
            () => ({
              method: 'PATCH',
              path: `${definitionPath}${random.pick(['/status', ''])}`,
              headers: { 'content-type': 'application/merge-patch+json' },
              body: { status: { storedVersions: random.pick([['v1'], [], ['v1', 'v2'], ['v2'], null]) } },
              ignore: ['/status/conditions', '/status/acceptedNames'],
            }),
          ],
        ])(),
      );
    steps.push(deleteDefinition);
    return steps;
  },
};
