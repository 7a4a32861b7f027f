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
  /** A cluster whose roles and bindings hold in every cluster (`system:admin`); undefined: each stands alone. */
  readonly bootstrapCluster: LogicalClusterName | undefined;
}

/** Who a user counts as in a logical cluster: scopes, warrants and foreign ServiceAccounts change that (C7.4). */
export type EffectiveUsers = (user: UserInfo, cluster: LogicalClusterName) => readonly UserInfo[];

/** Rights that hang on no binding; they are asked for every time. */
export type UnboundRules = (user: UserInfo, cluster: LogicalClusterName) => readonly DeepReadonly<PolicyRule>[];

const noRules: readonly never[] = [];

interface Visit {
  readonly rule: DeepReadonly<PolicyRule>;
  readonly grant: Grant;
}

/** Decisions of one cluster, as long as neither its RBAC nor that of the bootstrap cluster changed. */
interface Decisions {
  readonly bootstrap: RbacIndex;
  readonly results: Map<string, AuthorizationResult>;
}

/** Decisions that are remembered, in all clusters together. */
const maxDecisions = 16_384;

/**
 * RBAC (K7.3): allows what some rule of some binding allows, never denies. ClusterRoleBindings come before the
 * RoleBindings of the request's namespace, bindings of the bootstrap cluster before the cluster's own (C7.7 `05-*`).
 * A binding whose role is missing grants nothing and is told in the reason.
 *
 * Decisions are remembered: clients ask the same few questions over and over, and a user with the rights of `view` costs
 * a hundred comparisons each time. They hang on the index they were made by, so a change of RBAC forgets them at once.
 */
export class RbacAuthorizer implements Authorizer, RuleResolver {
  readonly #bootstrapCluster: LogicalClusterName | undefined;
  readonly #source: RbacSource;
  readonly #effectiveUsers: EffectiveUsers;
  readonly #unboundRules: UnboundRules;
  #decisions = new WeakMap<RbacIndex, Decisions>();
  #remembered = 0;
  constructor(
    options: RbacAuthorizerOptions,
    modules: {
      readonly source: RbacSource;
      readonly effectiveUsers?: EffectiveUsers;
      readonly unboundRules?: UnboundRules | undefined;
    },
  ) {
    this.#bootstrapCluster = options.bootstrapCluster;
    this.#source = modules.source;
    this.#effectiveUsers = modules.effectiveUsers ?? ((user) => [user]);
    this.#unboundRules = modules.unboundRules ?? (() => noRules);
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster } = attributes;
    if (cluster === undefined || cluster === '*') return { decision: 'noOpinion', reason: 'empty cluster name' };
    if (this.#unboundRules(attributes.user, cluster).some((rule) => ruleAllows(rule, attributes)))
      return { decision: 'allow', reason: 'RBAC: allowed without a binding' };
    const { results } = this.#decisionsOf(cluster);
    const question = questionOf(attributes);
    const known = results.get(question);
    if (known !== undefined) return known;
    const result = this.#decide(attributes, cluster);
    if (++this.#remembered > maxDecisions) {
      this.#decisions = new WeakMap();
      this.#remembered = 0;
    }
    results.set(question, result);
    return result;
  }

  #decisionsOf(cluster: LogicalClusterName): Decisions {
    const own = this.#source.index(cluster);
    const bootstrap = this.#bootstrapCluster === undefined ? own : this.#source.index(this.#bootstrapCluster);
    let decisions = this.#decisions.get(own);
    if (decisions?.bootstrap !== bootstrap) {
      decisions = { bootstrap, results: new Map() };
      this.#decisions.set(own, decisions);
    }
    return decisions;
  }

  #decide(attributes: AuthorizationAttributes, cluster: LogicalClusterName): AuthorizationResult {
    const failures: string[] = [];
    for (const { rule, grant } of this.#visit(attributes.user, cluster, attributes.namespace, failures)) {
      if (ruleAllows(rule, attributes)) return { decision: 'allow', reason: `RBAC: allowed by ${grantText(grant)}` };
    }
    return {
      decision: 'noOpinion',
      reason: failures.length === 0 ? '' : `RBAC: ${failures.length === 1 ? failures[0] : `[${failures.join(', ')}]`}`,
    };
  }

  /** All rules somebody has in a namespace (or, with an empty one, in the cluster), with what could not be resolved. */
  policyRules(
    user: UserInfo,
    cluster: LogicalClusterName,
    namespace: string,
  ): { rules: DeepReadonly<PolicyRule>[]; failures: string[] } {
    const failures: string[] = [];
    const rules: DeepReadonly<PolicyRule>[] = [...this.#unboundRules(user, cluster)];
    for (const { rule } of this.#visit(user, cluster, namespace, failures)) rules.push(rule);
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

  *#visit(user: UserInfo, cluster: LogicalClusterName, namespace: string, failures: string[]): IterableIterator<Visit> {
    const sources =
      this.#bootstrapCluster === undefined || this.#bootstrapCluster === cluster
        ? [cluster]
        : [this.#bootstrapCluster, cluster];
    for (const effective of this.#effectiveUsers(user, cluster)) {
      for (const source of sources) {
        const grants = [userKey(effective.name), ...effective.groups.map(groupKey)].flatMap((key) =>
          this.#source.grants(source, key),
        );
        for (const grant of grants) if (grant.namespace === '') yield* this.#rulesOf(grant, source, failures);
        if (namespace === '' || source !== cluster) continue;
        for (const grant of grants) if (grant.namespace === namespace) yield* this.#rulesOf(grant, source, failures);
      }
    }
  }

  *#rulesOf(grant: Grant, source: LogicalClusterName, failures: string[]): IterableIterator<Visit> {
    const rules = this.roleRules(source, grant.binding.roleRef, grant.namespace);
    if (rules === undefined) {
      const { kind, name } = grant.binding.roleRef;
      failures.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io "${name}" not found`);
      return;
    }
    for (const rule of rules) yield { rule, grant };
  }

  /** Rules of a role as a binding of `cluster` sees it: ClusterRoles of the bootstrap cluster may be bound everywhere. */
  roleRules(
    cluster: LogicalClusterName,
    roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string },
    namespace: string,
  ): readonly DeepReadonly<PolicyRule>[] | undefined {
    const own = this.#source.rules(cluster, roleRef, namespace);
    if (own !== undefined || roleRef.kind !== 'ClusterRole' || this.#bootstrapCluster === undefined) return own;
    return this.#source.rules(this.#bootstrapCluster, roleRef, namespace);
  }
}

/**
 * All that a decision of RBAC depends on. Each text stands behind its length, so that no two questions can look alike,
 * whatever names they hold.
 */
function questionOf(asked: AuthorizationAttributes): string {
  const { user } = asked;
  let text = `${textOf(user.name)}${user.groups.length};`;
  for (const group of user.groups) text += textOf(group);
  for (const key of Object.keys(user.extra)) text += textOf(key) + textOf(JSON.stringify(user.extra[key]));
  text += `;${asked.isResourceRequest};`;
  text += textOf(asked.verb) + textOf(asked.group) + textOf(asked.namespace) + textOf(asked.resource);
  return text + textOf(asked.subresource) + textOf(asked.name) + textOf(asked.path);
}

const textOf = (text: string): string => `${text.length}:${text}`;

/** `RoleBinding "b/ns" of Role "r" to User "u"`. */
function grantText({ binding, subject, namespace }: Grant): string {
  const name = namespace === '' ? `"${binding.metadata.name}"` : `"${binding.metadata.name}/${namespace}"`;
  const who =
    subject.kind === 'ServiceAccount' ? `"${subject.name}/${subject.namespace ?? namespace}"` : `"${subject.name}"`;
  return `${namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'} ${name} of ${binding.roleRef.kind} "${binding.roleRef.name}" to ${subject.kind} ${who}`;
}
