import type { Precondition } from '../lifecycle/precondition.ts';
import { isReviewUnavailable } from '../webhooks/review-unavailable-error.ts';
import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from './authorizer.ts';

/** The precondition that a user may still do what a long-running request does; `url`: of the request. */
export function permissionPrecondition(
  authorizer: Authorizer,
  { annotate: _annotate, ...attributes }: AuthorizationAttributes,
  url: string,
): Precondition {
  const { user, verb, fieldSelector, labelSelector } = attributes;
  const mark = url.indexOf('?');
  // The path of a virtual workspace has more in it than the attributes.
  const path = mark < 0 ? url : url.slice(0, mark);
  return {
    kind: 'permission',
    key: JSON.stringify([path, verb, fieldSelector, labelSelector, user.name, user.uid, user.groups, user.extra]),
    holds: async () => isStillAllowed(await authorizer.authorize(attributes)),
  };
}

/** False if the request is not allowed any more; true also while the server that decides does not respond. */
export const isStillAllowed = ({ decision, error }: AuthorizationResult): boolean =>
  decision === 'allow' || (decision === 'noOpinion' && isReviewUnavailable(error));
