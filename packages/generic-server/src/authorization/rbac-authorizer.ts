import type { DeepReadonly, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  Authorizer,
  NonResourceRule,
  ResourceRule,
  RuleResolver,
} from './authorizer.ts';
import { ruleAllows, type PolicyRule } from './rbac-rules.ts';
import { groupKey, userKey, type Grant, type RbacIndex, type RbacSource } from './rbac-source.ts';

interface RbacAuthorizerOptions {
  /** A logical cluster whose roles and bindings apply in every logical cluster (`system:admin`); undefined: none. */
  readonly bootstrapCluster: LogicalClusterName | undefined;
}

/** The users whose permissions a user has in a logical cluster: kcp's scopes, warrants and global ServiceAccounts. */
export type EffectiveUsers = (user: UserInfo, cluster: LogicalClusterName) => readonly UserInfo[];

/** Rules that a user has without a binding. Evaluated for every request. */
export type ImplicitRules = (user: UserInfo, cluster: LogicalClusterName) => readonly DeepReadonly<PolicyRule>[];

const noRules: readonly never[] = [];

interface GrantedRule {
  readonly rule: DeepReadonly<PolicyRule>;
  /** The logical cluster of the binding. */
  readonly source: LogicalClusterName;
  readonly grant: Grant;
}

/** Cached decisions of a logical cluster. Valid while neither its RBAC nor that of the bootstrap cluster changes. */
interface Decisions {
  readonly bootstrap: RbacIndex;
  readonly byRequest: Map<string, AuthorizationResult>;
}

/** Cached decisions of all logical clusters. */
const maxDecisions = 16_384;

/**
 * RBAC: allows a request if a rule of a binding allows it; never denies. ClusterRoleBindings are evaluated before the
 * RoleBindings of the namespace, and bindings of the bootstrap cluster before those of the logical cluster, as in kcp. A
 * binding to a missing role grants nothing; the reason mentions it.
 *
 * Decisions are cached, because clients repeat few different requests and a role such as `view` takes a hundred comparisons.
 * The cache is keyed by the RBAC index that a decision used, so a change of RBAC invalidates it.
 */
export class RbacAuthorizer implements Authorizer, RuleResolver {
  readonly #bootstrapCluster: LogicalClusterName | undefined;
  readonly #source: RbacSource;
  readonly #effectiveUsers: EffectiveUsers;
  readonly #implicitRules: ImplicitRules;
  #decisions = new WeakMap<RbacIndex, Decisions>();
  /** What a binding's subject is answered; a grant belongs to one logical cluster. Thousands of cached decisions share it. */
  readonly #allowed = new WeakMap<Grant, AuthorizationResult>();
  #cachedDecisions = 0;
  constructor(
    options: RbacAuthorizerOptions,
    modules: {
      readonly source: RbacSource;
      readonly effectiveUsers?: EffectiveUsers;
      readonly implicitRules?: ImplicitRules | undefined;
    },
  ) {
    this.#bootstrapCluster = options.bootstrapCluster;
    this.#source = modules.source;
    this.#effectiveUsers = modules.effectiveUsers ?? ((user) => [user]);
    this.#implicitRules = modules.implicitRules ?? (() => noRules);
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster } = attributes;
    if (cluster === undefined || cluster === '*') return { decision: 'noOpinion', reason: 'empty cluster name' };
    if (this.#implicitRules(attributes.user, cluster).some((rule) => ruleAllows(rule, attributes)))
      return { decision: 'allow', reason: 'RBAC: allowed without a binding' };
    if (!isCacheable(attributes.user)) return this.#decide(attributes, cluster);
    const { byRequest } = this.#decisionsOf(cluster);
    const key = decisionKey(attributes);
    const cached = byRequest.get(key);
    if (cached !== undefined) return cached;
    const result = this.#decide(attributes, cluster);
    if (++this.#cachedDecisions > maxDecisions) {
      this.#decisions = new WeakMap();
      this.#cachedDecisions = 0;
    }
    byRequest.set(key, result);
    return result;
  }

  #decisionsOf(cluster: LogicalClusterName): Decisions {
    const index = this.#source.index(cluster);
    const bootstrap = this.#bootstrapCluster === undefined ? index : this.#source.index(this.#bootstrapCluster);
    let decisions = this.#decisions.get(index);
    if (decisions?.bootstrap !== bootstrap) {
      decisions = { bootstrap, byRequest: new Map() };
      this.#decisions.set(index, decisions);
    }
    return decisions;
  }

  #decide(attributes: AuthorizationAttributes, cluster: LogicalClusterName): AuthorizationResult {
    const failures: string[] = [];
    for (const { rule, source, grant } of this.#grantedRules(
      attributes.user,
      cluster,
      attributes.namespace,
      failures,
    )) {
      if (!ruleAllows(rule, attributes)) continue;
      let allowed = this.#allowed.get(grant);
      if (allowed === undefined) {
        const isBootstrapPolicy = source === this.#bootstrapCluster;
        allowed = { decision: 'allow', reason: `RBAC: allowed by ${grantText(grant)}`, isBootstrapPolicy };
        this.#allowed.set(grant, allowed);
      }
      return allowed;
    }
    return {
      decision: 'noOpinion',
      reason: failures.length === 0 ? '' : `RBAC: ${failures.length === 1 ? failures[0] : `[${failures.join(', ')}]`}`,
    };
  }

  /** All rules of a user in a namespace, or cluster-wide for an empty namespace. `failures`: bindings to missing roles. */
  policyRules(
    user: UserInfo,
    cluster: LogicalClusterName,
    namespace: string,
  ): { rules: DeepReadonly<PolicyRule>[]; failures: string[] } {
    const failures: string[] = [];
    const rules: DeepReadonly<PolicyRule>[] = [...this.#implicitRules(user, cluster)];
    const seen = new Set<Grant['binding']>();
    for (const { rule } of this.#grantedRules(user, cluster, namespace, failures, seen)) rules.push(rule);
    return { rules, failures };
  }

  async rulesFor(user: UserInfo, cluster: LogicalClusterName, namespace: string): ReturnType<RuleResolver['rulesFor']> {
    const { rules, failures } = this.policyRules(user, cluster, namespace);
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    for (const rule of rules) {
      const verbs = rule.verbs ?? [];
      if (rule.resources !== undefined && rule.resources.length > 0) {
        const names = rule.resourceNames ?? [];
        resourceRules.push({
          verbs,
          apiGroups: rule.apiGroups ?? [],
          resources: rule.resources,
          ...(names.length === 0 ? {} : { resourceNames: names }),
        });
      }
      if (rule.nonResourceURLs !== undefined && rule.nonResourceURLs.length > 0)
        nonResourceRules.push({ verbs, nonResourceURLs: rule.nonResourceURLs });
    }
    return { resourceRules, nonResourceRules, incomplete: failures.length > 0, evaluationError: failures.join(', ') };
  }

  *#grantedRules(
    user: UserInfo,
    cluster: LogicalClusterName,
    namespace: string,
    failures: string[],
    /** Bindings to leave out; what is visited is added. Absent: one that names several groups of the user comes repeatedly. */
    seen?: Set<Grant['binding']>,
  ): IterableIterator<GrantedRule> {
    const sources =
      this.#bootstrapCluster === undefined || this.#bootstrapCluster === cluster
        ? [cluster]
        : [this.#bootstrapCluster, cluster];
    for (const effective of this.#effectiveUsers(user, cluster)) {
      for (const source of sources) {
        const all = [userKey(effective.name), ...effective.groups.map(groupKey)].flatMap((key) =>
          this.#source.grants(source, key),
        );
        const grants = seen === undefined ? all : all.filter(({ binding }) => isFirst(seen, binding));
        for (const grant of grants) if (grant.namespace === '') yield* this.#rulesOf(grant, source, failures);
        if (namespace === '' || source !== cluster) continue;
        for (const grant of grants) if (grant.namespace === namespace) yield* this.#rulesOf(grant, source, failures);
      }
    }
  }

  *#rulesOf(grant: Grant, source: LogicalClusterName, failures: string[]): IterableIterator<GrantedRule> {
    const rules = this.roleRules(source, grant.binding.roleRef, grant.namespace);
    if (rules === undefined) {
      const { kind, name } = grant.binding.roleRef;
      failures.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io "${name}" not found`);
      return;
    }
    for (const rule of rules) yield { rule, source, grant };
  }

  /** Rules of a role that a binding in `cluster` references. ClusterRoles of the bootstrap cluster can be bound everywhere. */
  roleRules(
    cluster: LogicalClusterName,
    roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string },
    namespace: string,
  ): readonly DeepReadonly<PolicyRule>[] | undefined {
    const rules = this.#source.rules(cluster, roleRef, namespace);
    if (rules !== undefined || roleRef.kind !== 'ClusterRole' || this.#bootstrapCluster === undefined) return rules;
    return this.#source.rules(this.#bootstrapCluster, roleRef, namespace);
  }
}

/**
 * The attributes that an RBAC decision depends on, as a cache key. JSON is one flat string: a concatenation would keep its parts,
 * and the URL that the name is a slice of, for as long as the decision is cached.
 */
function decisionKey(attributes: AuthorizationAttributes): string {
  const { user, isResourceRequest, verb, group, namespace, resource, subresource, name, path } = attributes;
  return JSON.stringify([
    user.name,
    user.groups,
    user.extra,
    isResourceRequest,
    verb,
    group,
    namespace,
    resource,
    subresource,
    name,
    path,
  ]);
}

/** A review may name a user of megabytes, whose decisions are not worth the key. */
const maxCachedParts = 1_000;

function isCacheable({ groups, extra }: UserInfo): boolean {
  let parts = groups.length;
  for (const key of parts > maxCachedParts ? [] : Object.keys(extra)) parts += 1 + (extra[key]?.length ?? 0);
  return parts <= maxCachedParts;
}

function isFirst<T>(seen: Set<T>, value: T): boolean {
  if (seen.has(value)) return false;
  seen.add(value);
  return true;
}

/** `RoleBinding "b/ns" of Role "r" to User "u"`. */
function grantText({ binding, subject, namespace }: Grant): string {
  const name = namespace === '' ? `"${binding.metadata.name}"` : `"${binding.metadata.name}/${namespace}"`;
  const who =
    subject.kind === 'ServiceAccount' ? `"${subject.name}/${subject.namespace ?? namespace}"` : `"${subject.name}"`;
  return `${namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'} ${name} of ${binding.roleRef.kind} "${binding.roleRef.name}" to ${subject.kind} ${who}`;
}
