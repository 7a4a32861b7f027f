import { expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { RequestWork } from '@multiplane/component-base';
import type { AuthorizationAttributes } from '@multiplane/generic-server';
import type { CreateHandlerInput } from '../endpoints/create-handler.ts';
import { subjectAccessReview } from './access-reviews.ts';

const review: KubeObject = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  metadata: {},
  spec: { user: 'alice', resourceAttributes: { verb: 'list', resource: 'widgets', group: 'example.dev' } },
};

/** Reviews as the endpoint hands them over, and the annotations that the audit event gets. */
async function reviewed(query: string, annotations: Readonly<Record<string, string>>) {
  const audited: Record<string, string> = {};
  const handler = subjectAccessReview({
    authorizer: {
      authorize: ({ annotate }: AuthorizationAttributes) => {
        for (const [key, value] of Object.entries(annotations)) annotate?.(key, value);
        return Promise.resolve({ decision: 'noOpinion', reason: 'access denied' });
      },
    },
  });
  const answer = await handler({
    context: {
      info: { query: new URLSearchParams(query) },
      audit: { annotate: (key: string, value: string) => (audited[key] = value) },
      exchange: { headers: {} },
      user: { name: 'admin', groups: [], extra: {} },
      work: new RequestWork(),
    },
    definition: { strategy: { validate: () => [] } },
    cluster: 'team' as LogicalClusterName,
    object: review,
    admit: () => Promise.resolve(),
  } as unknown as CreateHandlerInput);
  return { answer, audited };
}

const links = { '01-requiredgroups-decision': 'Allowed', '02-content-reason': 'no verb=access permission on /' };

test('a review explains itself when it is asked to: the links of the chain, by the keys of the audit event', async () => {
  const { answer, audited } = await reviewed('explain=true', links);
  const wanted = {
    'sar.auth.kcp.io/01-requiredgroups-decision': 'Allowed',
    'sar.auth.kcp.io/02-content-reason': 'no verb=access permission on /',
  };
  expect(answer.metadata.annotations).toEqual(wanted);
  expect(audited).toEqual(wanted);
  expect(answer['status']).toEqual({ allowed: false, reason: 'access denied' });
});

test.each(['', 'explain=false', 'explain'])('without it (%j) the response has no annotations', async (query) => {
  const { answer, audited } = await reviewed(query, links);
  expect(answer.metadata).toEqual({});
  expect(Object.keys(audited)).toHaveLength(2);
});

test('the roles of a provider stay with the operator: the reason of its policy is in the audit event alone', async () => {
  const key = '04-maxpermissionpolicy-reason';
  const reason = 'API export "2abc"|"widgets" policy: RBAC: clusterrole "secret-plan" not found\nsecond line';
  const { answer, audited } = await reviewed('explain=true', { [key]: reason });
  expect(answer.metadata.annotations).toEqual({
    [`sar.auth.kcp.io/${key}`]: 'API export "2abc"|"widgets" policy: no role of the provider grants it',
  });
  expect(audited[`sar.auth.kcp.io/${key}`]).toBe(reason);
});
