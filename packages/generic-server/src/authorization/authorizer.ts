import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';

/** What somebody wants to do. */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  readonly cluster: LogicalClusterName | '*' | undefined;
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** For non-resource requests. */
  readonly path: string;
  /** Raw selectors of list, watch and deletecollection. */
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Asked in the name of the control plane: what guards the entrance of a logical cluster is left out (C7.9). */
  readonly deep?: boolean | undefined;
  /** Takes what the steps of a decision say, for the audit log. */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
}

export interface AuthorizationResult {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
  /** Something went wrong on the way to the decision; an allow still holds. */
  readonly error?: Error | undefined;
}

/** First opinion wins; no opinion at the end is a refusal. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult>;
}

/** A rule as SelfSubjectRulesReview reports it. */
export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[] | undefined;
}
export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}
export interface RuleResolver {
  rulesFor(
    user: UserInfo,
    cluster: LogicalClusterName,
    namespace: string,
  ): Promise<{
    readonly resourceRules: readonly ResourceRule[];
    readonly nonResourceRules: readonly NonResourceRule[];
    readonly incomplete: boolean;
    readonly evaluationError: string;
  }>;
}
