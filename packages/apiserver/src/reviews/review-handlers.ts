import type { LogicalClusterName } from '@multiplane/apimachinery';
import type {
  Authorizer,
  RuleResolver,
  ServiceAccountGetter,
  ServiceAccountTokens,
  TokenAuthenticator,
} from '@multiplane/generic-server';
import type { CreateHandlers } from '../endpoints/create-handler.ts';
import { selfSubjectAccessReview, selfSubjectRulesReview, subjectAccessReview } from './access-reviews.ts';
import { selfSubjectReview, tokenReview } from './authentication-reviews.ts';
import { tokenRequest } from './token-request.ts';

interface ReviewOptions {
  readonly audiences: readonly string[];
  readonly maxTokenExpirationSeconds?: number | undefined;
  readonly now: () => number;
}

/** Handlers of all create-only kinds, which are not stored. */
export function reviewHandlers(
  options: ReviewOptions,
  modules: {
    readonly authorizer: Authorizer;
    readonly rules: RuleResolver;
    readonly tokensIn: (cluster: LogicalClusterName) => TokenAuthenticator;
    readonly serviceAccountTokens: ServiceAccountTokens;
    readonly serviceAccounts: ServiceAccountGetter;
  },
): CreateHandlers {
  const { authorizer, rules, tokensIn } = modules;
  const subject = subjectAccessReview({ authorizer });
  return new Map([
    ['authorization.k8s.io/subjectaccessreviews', subject],
    ['authorization.k8s.io/localsubjectaccessreviews', subject],
    ['authorization.k8s.io/selfsubjectaccessreviews', selfSubjectAccessReview({ authorizer })],
    ['authorization.k8s.io/selfsubjectrulesreviews', selfSubjectRulesReview({ rules })],
    ['authentication.k8s.io/selfsubjectreviews', selfSubjectReview],
    ['authentication.k8s.io/tokenreviews', tokenReview({ audiences: options.audiences }, { tokensIn })],
    [
      '/serviceaccounts/token',
      tokenRequest(
        { now: options.now, maxExpirationSeconds: options.maxTokenExpirationSeconds },
        { tokens: modules.serviceAccountTokens, getter: modules.serviceAccounts },
      ),
    ],
  ]);
}
