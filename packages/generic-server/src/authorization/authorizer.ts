import type { LogicalClusterName, UserInfo } from '@multiplane/apimachinery';

/** The action to authorize. */
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
  /** A deep SubjectAccessReview of kcp: skips the check whether the user may access the workspace. */
  readonly deep?: boolean | undefined;
  /** Adds an annotation to the audit event. */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
}

export interface AuthorizationResult {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
  /** An error during the evaluation; `allow` is valid nevertheless. */
  readonly error?: Error | undefined;
  /** Of RBAC: a binding of the bootstrap policy allows the request. */
  readonly isBootstrapPolicy?: boolean | undefined;
}

/** In a chain of authorizers the first opinion wins; without an opinion the request is refused. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult>;
}

/** A rule in the format of SelfSubjectRulesReview. */
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
