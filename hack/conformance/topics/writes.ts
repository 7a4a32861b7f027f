import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectName, objectOf } from '../kinds.ts';
import type { Body, Kind } from '../grammar.ts';
import { mutated, mutationCount, protobufBody, requestBody } from '../mutations.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';

const writeOptions = (random: Random): string =>
  random.weighted([
    [6, ''],
    [3, '?fieldValidation=Strict'],
    [2, '?fieldValidation=Warn'],
    [1, '?fieldValidation=Ignore'],
    [1, '?dryRun=All'],
  ]);

function withMetadata(object: Body, members: Body): Body {
  return { ...object, metadata: { ...(object['metadata'] as Body), ...members } };
}

/** Creates, reads and replaces: bodies that are valid, have an error or two, or are absurd. */
function operation(random: Random, kind: Kind): Step[] {
  const collection = collectionPath(kind);
  const name = objectName(random, kind);
  const path = `${collection}/${encodeURIComponent(name).replaceAll('%7B', '{').replaceAll('%7D', '}')}`;
  const object = objectOf(random, kind, name);
  const body = requestBody(random, mutated(random, object, mutationCount(random)));
  return random.weighted<() => Step[]>([
    [6, () => [{ method: 'POST', path: `${collection}${writeOptions(random)}`, ...body }]],
    [1, () => [{ method: 'POST', path: collection, body: object }]],
    [0.5, () => [{ method: 'POST', path: collection, ...protobufBody(random, object) }]],
    [0.3, () => [{ method: 'PUT', path, ...protobufBody(random, object) }]],
    [1, () => [{ method: 'POST', path, ...body }]],
    [3, () => [{ method: 'PUT', path: `${path}${writeOptions(random)}`, ...body }]],
    [
      2,
      () => [
        { path, capture: { rv: '/metadata/resourceVersion', uid: '/metadata/uid' } },
        {
          method: 'PUT',
          path: `${path}${writeOptions(random)}`,
          body: withMetadata(mutated(random, object, mutationCount(random)), {
            resourceVersion: '{{rv}}',
            ...random.optional(0.3, { uid: () => '{{uid}}' }),
          }),
        },
      ],
    ],
    [1, () => [{ method: 'PUT', path: collection, body: object }]],
    [1, () => [{ method: 'DELETE', path }]],
    [1, () => [{ path }]],
  ])();
}

export const writes: Topic = {
  name: 'writes',
  steps(random) {
    const kind = random.pick(kinds);
    const steps = kind.isNamespaced ? [createNamespace] : [];
    for (let count = 3 + random.int(5); count > 0; count--) steps.push(...operation(random, kind));
    return steps;
  },
};
