import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { localSubjectAccessReviewErrors, subjectAccessReviewErrors } from './access-review-rules.ts';

const review = (spec: JsonObject, namespace?: string): KubeObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  metadata: namespace === undefined ? {} : { namespace },
  spec,
});
const noSubject = 'spec.user: Invalid value: "": at least one of user or group must be specified';

describe('errors of access reviews', () => {
  test('the subject comes after the question and before the selectors', () => {
    const resourceAttributes = { fieldSelector: {}, labelSelector: { rawSelector: 'a', requirements: [{}] } };
    const errors = subjectAccessReviewErrors(review({ resourceAttributes })).map(fieldErrorText);
    expect(errors.map((text) => text.slice(0, text.indexOf(':')))).toEqual([
      'spec.user',
      'spec.resourceAttributes.fieldSelector.requirements',
      'spec.resourceAttributes.labelSelector.rawSelector',
      'spec.resourceAttributes.labelSelector.requirements[0].key',
      'spec.resourceAttributes.labelSelector.requirements[0].key',
    ]);
    expect(errors[0]).toBe(noSubject);
  });

  test('a local review of a resource and a path', () => {
    const spec = { resourceAttributes: { namespace: 'b' }, nonResourceAttributes: { path: '/x', verb: 'get' } };
    const printed = 'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}';
    expect(localSubjectAccessReviewErrors(review(spec, 'a')).map(fieldErrorText)).toEqual([
      `${printed}: cannot be specified in combination with resourceAttributes`,
      noSubject,
      'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
      `${printed}: disallowed on this kind of request`,
    ]);
  });
});
