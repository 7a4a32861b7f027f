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

  test('a subject or selector with more parts than a request can have', () => {
    const values = (count: number): string[] => Array.from({ length: count }, (_, index) => `g${index}`);
    const errorsOf = (spec: JsonObject, more: JsonObject = {}): string[] => {
      const asked = { user: 'u', ...spec, resourceAttributes: { namespace: 'a', ...more } };
      const all = [subjectAccessReviewErrors(review(asked)), localSubjectAccessReviewErrors(review(asked, 'a'))];
      const [texts, local] = all.map((errors) => errors.map(fieldErrorText));
      expect(local).toEqual(texts);
      return texts as string[];
    };
    const requirements = [{ key: 'a', operator: 'In', values: values(999) }];
    expect(
      errorsOf({ groups: values(10_000), extra: { a: values(999) } }, { labelSelector: { requirements } }),
    ).toEqual([]);
    expect(errorsOf({ groups: values(10_001) })).toEqual([
      'spec.groups: Too many: 10001: must have at most 10000 items',
    ]);
    expect(errorsOf({ extra: { a: values(500), b: values(499) } })).toEqual([
      'spec.extra: Too many: 1001: must have at most 1000 items',
    ]);
    expect(errorsOf({ extra: Object.fromEntries(values(1_001).map((key) => [key, []])) })).toEqual([
      'spec.extra: Too many: 1001: must have at most 1000 items',
    ]);
    expect(errorsOf({ extra: { a: ['x'.repeat(65_537)] } })).toEqual([
      'spec.extra: Too long: may not be more than 65536 bytes',
    ]);
    const at = 'spec.resourceAttributes.fieldSelector';
    expect(errorsOf({}, { fieldSelector: { requirements: [...requirements, { key: 'b' }] } })).toEqual([
      `${at}.requirements: Too many: 1001: must have at most 1000 items`,
    ]);
    expect(errorsOf({}, { fieldSelector: { rawSelector: 'x'.repeat(65_537) } })).toEqual([
      `${at}.rawSelector: Too long: may not be more than 65536 bytes`,
    ]);
  });
});
