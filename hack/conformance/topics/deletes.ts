import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectOf } from '../kinds.ts';
import { mutated, requestBody } from '../mutations.ts';
import type { Body } from '../grammar.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';

function deleteOptions(random: Random): Body {
  const options: Body = random.optional(0.25, {
    kind: () => 'DeleteOptions',
    apiVersion: () => random.pick(['v1', 'meta.k8s.io/v1', 'example.com/v1', 'v2']),
    gracePeriodSeconds: () => random.pick([0, 1, 30, -1, 2 ** 40]),
    propagationPolicy: () => random.pick(['Orphan', 'Background', 'Foreground', 'x', '']),
    orphanDependents: () => random.chance(0.5),
    preconditions: () =>
      random.optional(0.7, {
        uid: () => random.pick(['{{uid}}', '{{uid}}', '12345678-1234-1234-1234-123456789abc', '']),
        resourceVersion: () => random.pick(['{{rv}}', '{{rv}}', '1', '']),
      }),
    dryRun: () => random.pick([['All'], [], ['x'], ['All', 'All']]),
  });
  return random.chance(0.15) ? mutated(random, options, 1) : options;
}

const query = (random: Random): string => {
  const options = random.some(
    [
      `gracePeriodSeconds=${random.pick(['0', '1', '-1', 'x'])}`,
      `propagationPolicy=${random.pick(['Orphan', 'Background', 'Foreground', 'x'])}`,
      `dryRun=${random.pick(['All', 'x', ''])}`,
      `orphanDependents=${random.pick(['true', 'x'])}`,
      'ignoreStoreReadErrorWithClusterBreakingPotential=true',
    ],
    2,
  );
  return options.length === 0 ? '' : `?${options.join('&')}`;
};

/** Meanwhile the garbage collector completes the deletion. */
const settle: Step = { pause: 500, path: '' };

/** Deletion of objects and collections: preconditions, finalizers, propagation policies. */
export const deletes: Topic = {
  name: 'deletes',
  steps(random) {
    const kind = random.pick(kinds);
    const collection = collectionPath(kind);
    const names = kind.isNamespaced ? ['a', 'b'] : ['a-{{run}}', 'b-{{run}}'];
    const steps: Step[] = kind.isNamespaced ? [createNamespace] : [];
    for (const name of names) {
      const object = objectOf(random, kind, name);
      object['metadata'] = {
        ...(object['metadata'] as Body),
        labels: { run: '{{run}}', n: name.slice(0, 1) },
        ...random.optional(0.5, { finalizers: () => [random.pick(['example.com/a', 'example.com/b'])] }),
      };
      steps.push({ method: 'POST', path: collection, body: object });
    }
    for (let count = 2 + random.int(4); count > 0; count--) {
      const path = `${collection}/${random.pick(names)}`;
      steps.push(
        ...random.weighted<() => Step[]>([
          [
            5,
            () => [
              { path, capture: { rv: '/metadata/resourceVersion', uid: '/metadata/uid' } },
              { method: 'DELETE', path: `${path}${query(random)}`, ...requestBody(random, deleteOptions(random)) },
            ],
          ],
          [2, () => [{ method: 'DELETE', path: `${path}${query(random)}` }]],
          [
            2,
            () => [
              {
                method: 'PATCH',
                path,
                headers: { 'content-type': 'application/merge-patch+json' },
                body: { metadata: { finalizers: random.pick([null, [], ['example.com/b'], ['example.com/c']]) } },
              },
            ],
          ],
          [
            2,
            () => [
              {
                method: 'DELETE',
                path: `${collection}?labelSelector=run%3D{{run}}${random.pick(['', ',n%3Da', ',n!%3Da', '&limit=1', '&fieldSelector=metadata.name%3Da', '&dryRun=All', '&labelSelector=x%3D'])}`,
                ...(random.chance(0.3) ? requestBody(random, deleteOptions(random)) : {}),
              },
            ],
          ],
        ])(),
      );
    }
    steps.push({ path: `${collection}?labelSelector=run%3D{{run}}` });
    const isCollected = /orphan|foreground/i.test(JSON.stringify(steps));
    return steps.flatMap((step) => (isCollected && step.method === 'DELETE' ? [step, settle] : [step]));
  },
};
