import type { FieldError, KubeObject } from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { numberAt, objectAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { BuiltInSchema } from '../schemas/built-in-schema.ts';
import {
  localSubjectAccessReviewErrors,
  selfSubjectAccessReviewErrors,
  subjectAccessReviewErrors,
} from './access-review-rules.ts';

interface Review {
  readonly group: string;
  readonly kind: string;
  readonly namespaced?: boolean;
  readonly validate?: (object: KubeObject) => FieldError[];
}

/** A kind that is asked, answered and never stored: create is all it offers. */
function review({ group, kind, namespaced = false, validate = () => [] }: Review): ResourceDefinition {
  return builtInKind({
    group,
    version: 'v1',
    kind,
    resource: `${kind.toLowerCase()}s`,
    namespaced,
    verbs: ['create'],
    component: `io.k8s.api.${group.split('.')[0] ?? ''}.v1.${kind}`,
    storage: null,
    strategy: defaultStrategy({ validate: (_context, object) => validate(object) }),
  });
}

const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';

export const authenticationReviews = (): ResourceDefinition[] => [
  review({ group: authentication, kind: 'SelfSubjectReview' }),
  review({ group: authentication, kind: 'TokenReview' }),
];

export const authorizationReviews = (): ResourceDefinition[] => [
  review({
    group: authorization,
    kind: 'LocalSubjectAccessReview',
    namespaced: true,
    validate: localSubjectAccessReviewErrors,
  }),
  review({ group: authorization, kind: 'SelfSubjectAccessReview', validate: selfSubjectAccessReviewErrors }),
  review({ group: authorization, kind: 'SelfSubjectRulesReview' }),
  review({ group: authorization, kind: 'SubjectAccessReview', validate: subjectAccessReviewErrors }),
];

const tokenRequestGvk = { group: authentication, version: 'v1', kind: 'TokenRequest' } as const;

/** The body of `serviceaccounts/token`. */
export const tokenRequestKind = {
  ...tokenRequestGvk,
  origin: 'built-in',
  schema: new BuiltInSchema({
    component: 'io.k8s.api.authentication.v1.TokenRequest',
    defaults: (object) => {
      const spec = objectAt(object, 'spec');
      if (spec !== undefined && numberAt(spec, 'expirationSeconds') === undefined) spec['expirationSeconds'] = 3600;
    },
  }),
} as const;
