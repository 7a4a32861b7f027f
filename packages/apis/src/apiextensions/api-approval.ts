import {
  fieldErrors,
  FieldPath,
  splitUrl,
  type DeepReadonly,
  type FieldError,
  type KubeObject,
} from '@multiplane/apimachinery';
import { annotationOf, textAt } from '../fields.ts';

export const apiApprovedAnnotation = 'api-approved.kubernetes.io';

export type ApprovalState = 'approved' | 'bypassed' | 'invalid' | 'missing';

/** Groups under which only the Kubernetes community may define kinds. */
export const isProtectedGroup = (group: string): boolean =>
  ['k8s.io', 'kubernetes.io'].some((domain) => group === domain || group.endsWith(`.${domain}`));

const see = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** What the approval annotation of a definition says, and what is wrong with it. */
export function approvalState(crd: DeepReadonly<KubeObject>): {
  readonly state: ApprovalState;
  readonly reason: string;
} {
  const value = annotationOf(crd, apiApprovedAnnotation);
  if (value === '') {
    return {
      state: 'missing',
      reason: `protected groups must have approval annotation "${apiApprovedAnnotation}", ${see}`,
    };
  }
  if (value.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: "${value}"` };
  const url = splitUrl(value);
  if (url !== undefined && url.host !== '' && url.scheme !== '') {
    return { state: 'approved', reason: `approved in ${value}` };
  }
  return {
    state: 'invalid',
    reason: `protected groups must have approval annotation "${apiApprovedAnnotation}" with either a URL or a reason starting with "unapproved", ${see}`,
  };
}

/** A definition of a protected group needs its annotation; a state that was there before is left alone. */
export function approvalErrors(crd: KubeObject, old: DeepReadonly<KubeObject> | undefined): FieldError[] {
  if (!isProtectedGroup(textAt(crd, 'spec', 'group'))) return [];
  const { state, reason } = approvalState(crd);
  if (old !== undefined && approvalState(old).state === state) return [];
  const path = FieldPath.of('metadata', 'annotations').key(apiApprovedAnnotation);
  if (state === 'missing') return [fieldErrors.required(path, reason)];
  return state === 'invalid' ? [fieldErrors.invalid(path, annotationOf(crd, apiApprovedAnnotation), reason)] : [];
}
