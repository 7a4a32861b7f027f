import type { Step } from '../../../e2e/conformance/scenario.ts';
import { createDefinition, definition, deleteDefinition, widget, widgets } from '../definitions.ts';
import type { Body } from '../grammar.ts';
import { mutated, mutationCount, requestBody } from '../mutations.ts';
import { oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';

const validation = (random: Random): string =>
  random.pick(['', '', '?fieldValidation=Strict', '?fieldValidation=Warn', '?dryRun=All']);

function patch(random: Random, path: string, object: Body): Step {
  const type = random.pick(['merge-patch+json', 'json-patch+json', 'apply-patch+yaml', 'strategic-merge-patch+json']);
  const spec = object['spec'];
  const bodies: Readonly<Record<string, () => unknown>> = {
    'merge-patch+json': () => mutated(random, { spec }, mutationCount(random)),
    'strategic-merge-patch+json': () => ({ spec }),
    'json-patch+json': () => [
      {
        op: random.pick(['add', 'replace', 'remove', 'test']),
        path: `/spec${random.pick(['', '/a', '/b', '/c/0', '/c/-', '/replicas'])}`,
        value: oddValue(random),
      },
    ],
    'apply-patch+yaml': () => object,
  };
  const options =
    type === 'apply-patch+yaml'
      ? `?fieldManager=${random.pick(['m', 'n'])}${random.pick(['', '&force=true'])}`
      : validation(random);
  return {
    method: 'PATCH',
    path: `${path}${options}`,
    headers: { 'content-type': `application/${type}` },
    ...requestBody(random, bodies[type]?.()),
    managedFields: type === 'apply-patch+yaml',
  };
}

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';

/** One request to the objects of a random schema. */
export function objectOperation(random: Random, schema: Body, collection: string, version: string): Step {
  const name = random.pick(['a', 'b']);
  const path = `${collection}/${name}`;
  const object = widget(random, schema, version, name);
  const body = requestBody(random, mutated(random, object, random.chance(0.5) ? 0 : mutationCount(random)));
  return random.weighted<() => Step>([
    [5, () => ({ method: 'POST', path: `${collection}${validation(random)}`, ...body })],
    [
      2,
      () => ({
        method: 'PUT',
        path: `${path}${validation(random)}`,
        body: { ...object, metadata: { name, resourceVersion: '{{rv}}' } },
      }),
    ],
    [3, () => patch(random, path, object)],
    [1, () => ({ path, capture: { rv: '/metadata/resourceVersion' } })],
    [
      1,
      () => ({
        path: collection,
        headers: { accept: random.pick([table, `${table},application/json`]) },
        ignore: ['/columnDefinitions/0/description', '/columnDefinitions/1/description'],
      }),
    ],
    [
      1,
      () => ({
        method: 'PUT',
        path: `${path}/status`,
        body: { ...object, status: random.pick<Body>([{ replicas: 1, selector: 'a=b' }, { x: 1 }]) },
      }),
    ],
    [
      1,
      () => ({
        method: random.pick(['PUT', 'PATCH']),
        path: `${path}/scale`,
        headers: { 'content-type': random.pick(['application/merge-patch+json', 'application/json']) },
        body: {
          apiVersion: 'autoscaling/v1',
          kind: 'Scale',
          metadata: { name },
          spec: { replicas: random.pick([0, 1, 3, -1]) },
        },
      }),
    ],
    [1, () => ({ path: `${path}/${random.pick(['scale', 'status', 'x'])}` })],
    [0.5, () => ({ method: 'DELETE', path })],
    [
      0.5,
      () => ({ path: `${collection}?fieldSelector=${random.pick(['spec.a%3Da', 'metadata.name%3Da', 'spec.x%3D1'])}` }),
    ],
  ])();
}

/** Objects of a random structural schema, valid and not, in every write path. */
export const customResources: Topic = {
  name: 'custom-resources',
  steps(random) {
    const defined = definition(random);
    const versions = (defined.spec['versions'] as Body[]).map(({ name }) => name as string);
    const steps: Step[] = [...(defined.isNamespaced ? [createNamespace] : []), ...createDefinition(defined)];
    for (let count = 6 + random.int(8); count > 0; count--) {
      const version = random.chance(0.8) ? 'v1' : random.pick(versions);
      steps.push(objectOperation(random, defined.schema, widgets(defined.isNamespaced, version), version));
    }
    steps.push({ path: widgets(defined.isNamespaced, 'v1') }, deleteDefinition);
    return steps;
  },
};
