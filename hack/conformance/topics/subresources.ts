import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectOf } from '../kinds.ts';
import type { Body } from '../grammar.ts';
import { mutated, mutationCount, requestBody } from '../mutations.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';
import { patchStep } from './patches.ts';

const statuses: Readonly<Record<string, (random: Random) => Body>> = {
  resourcequotas: (random) => ({ hard: { pods: '3' }, used: random.pick<Body>([{ pods: '1' }, { pods: '-1' }, {}]) }),
  certificatesigningrequests: (random) => ({
    conditions: random.list(2, () => ({
      type: random.pick(['Approved', 'Denied', 'Failed', 'x', '']),
      ...random.optional(0.8, { status: () => random.pick(['True', 'False', 'x']) }),
      ...random.optional(0.4, { reason: () => 'r', message: () => 'm' }),
    })),
    ...random.optional(0.2, { certificate: () => 'YQ==' }),
  }),
  validatingadmissionpolicies: (random) => ({
    observedGeneration: 1,
    conditions: random.list(1, () => ({
      type: 'a',
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  }),
};

const tokenRequest = (random: Random): Body => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  spec: random.optional(0.5, {
    audiences: () => random.list(2, () => 'aud'),
    expirationSeconds: () => random.pick([600, 599, 3600, 2 ** 33, 0]),
    boundObjectRef: () =>
      random.pick<Body>([{ kind: 'Secret', apiVersion: 'v1', name: 'none' }, { kind: 'ConfigMap' }, {}]),
  }),
});

/** Status, approval and token, and subresources that a kind does not have. */
export const subresources: Topic = {
  name: 'subresources',
  steps(random) {
    const kind = random.pick(random.chance(0.5) ? kinds.filter(({ hasStatus }) => hasStatus === true) : kinds);
    const collection = collectionPath(kind);
    const name = kind.isNamespaced ? 'a' : 'a-{{run}}';
    const steps: Step[] = kind.isNamespaced ? [createNamespace] : [];
    const object = objectOf(random, kind, name);
    steps.push({ method: 'POST', path: collection, body: object });
    for (let count = 3 + random.int(4); count > 0; count--) {
      const subresource = random.weighted([
        [5, kind.resource === 'certificatesigningrequests' && random.chance(0.5) ? 'approval' : 'status'],
        [kind.resource === 'serviceaccounts' ? 6 : 0.3, 'token'],
        [0.5, 'scale'],
        [0.3, 'eviction'],
        [0.3, 'unknown'],
        [0.2, 'status/x'],
        [0.2, ''],
      ]);
      const path = `${collection}/${random.chance(0.95) ? name : 'none'}/${subresource}`;
      const content = statuses[kind.resource]?.(random) ?? { x: 1 };
      const whole = mutated(random, { ...object, status: content }, random.chance(0.6) ? 0 : mutationCount(random));
      steps.push(
        random.weighted<() => Step>([
          [2, () => ({ path })],
          [4, () => ({ method: 'PUT', path, ...requestBody(random, whole) })],
          [
            3,
            () => ({
              method: 'PATCH',
              path,
              headers: { 'content-type': 'application/merge-patch+json' },
              body: {
                status: content,
                ...random.optional(0.2, { spec: () => ({ x: 1 }), metadata: () => ({ labels: { a: 'b' } }) }),
              },
            }),
          ],
          [2, () => patchStep(random, kind, path, name)],
          [
            subresource === 'token' ? 8 : 1,
            () => ({
              method: 'POST',
              path,
              ...requestBody(
                random,
                mutated(random, subresource === 'token' ? tokenRequest(random) : object, random.chance(0.6) ? 0 : 1),
              ),
              ...(subresource === 'token' ? { ignore: ['/status/token'] } : {}),
            }),
          ],
          [1, () => ({ method: 'DELETE', path })],
        ])(),
      );
    }
    return steps;
  },
};
