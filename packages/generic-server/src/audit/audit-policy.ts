import { parseYaml } from '@multiplane/apimachinery';
import { ConfigurationDocument, ConfigurationError } from '@multiplane/component-base';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';
import {
  auditPolicySchema,
  type AuditGroupResources,
  type AuditLevel,
  type AuditPolicyDocument,
  type AuditPolicyRule,
  type AuditStage,
} from './audit-policy-schema.ts';

export type { AuditLevel, AuditStage } from './audit-policy-schema.ts';

/** What is recorded of a request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

interface Rule extends Omit<Required<AuditPolicyRule>, 'level' | 'omitStages' | 'omitManagedFields' | 'resources'> {
  readonly decision: AuditDecision;
  readonly resources: readonly Required<AuditGroupResources>[];
}

const notAudited: AuditDecision = { level: 'None', omitStages: new Set(), omitManagedFields: false };

const document = new ConfigurationDocument<AuditPolicyDocument>({ schema: auditPolicySchema }, { decode: parseYaml });

/** Decides the audit level of requests: the first rule that matches; a request that no rule matches is not audited. */
export class AuditPolicy {
  readonly #rules: readonly Rule[];
  private constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** Reads a Policy of `audit.k8s.io/v1` in YAML or JSON; `file` names it in errors. Throws ConfigurationError. */
  static parse(text: string, file = 'audit policy'): AuditPolicy {
    const policy = document.parse(text, file);
    const { rules = [] } = policy;
    const problems = rules.length === 0 ? ['loaded illegal policy with 0 rules'] : rules.flatMap(ruleProblems);
    if (problems.length > 0) throw new ConfigurationError(file, problems);
    return new AuditPolicy(rules.map((rule) => completeRule(rule, policy)));
  }

  decide(attributes: AuthorizationAttributes): AuditDecision {
    return this.#rules.find((rule) => matches(rule, attributes))?.decision ?? notAudited;
  }
}

/** The rules of kube-apiserver's validation that relate several fields, in its words. */
function ruleProblems(rule: AuditPolicyRule, index: number): string[] {
  const { nonResourceURLs = [], resources = [], namespaces = [] } = rule;
  const path = `rules[${index}]`;
  const problems: string[] = [];
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0))
    problems.push(`${path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`);
  for (const url of nonResourceURLs) {
    if (url !== '*' && (!url.startsWith('/') || url.slice(0, -1).includes('*')))
      problems.push(`${path}.nonResourceURLs: ${url} must begin with a slash and may only end with a star`);
  }
  for (const [at, group] of resources.entries()) {
    if ((group.resourceNames ?? []).length > 0 && (group.resources ?? []).length === 0)
      problems.push(`${path}.resources[${at}].resourceNames: using resourceNames requires at least one resource`);
  }
  return problems;
}

/** A rule with defaults; what the policy omits is omitted by every rule. */
function completeRule(rule: AuditPolicyRule, policy: AuditPolicyDocument): Rule {
  const { level, users = [], userGroups = [], verbs = [], namespaces = [], nonResourceURLs = [] } = rule;
  return {
    decision: {
      level,
      omitStages: new Set([...(policy.omitStages ?? []), ...(rule.omitStages ?? [])]),
      omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
    },
    users,
    userGroups,
    verbs,
    resources: (rule.resources ?? []).map(({ group = '', resources = [], resourceNames = [] }) => ({
      group,
      resources,
      resourceNames,
    })),
    namespaces,
    nonResourceURLs,
  };
}

function matches(rule: Rule, attributes: AuthorizationAttributes): boolean {
  const { user, verb } = attributes;
  if (rule.users.length > 0 && !rule.users.includes(user.name)) return false;
  if (rule.userGroups.length > 0 && !user.groups.some((group) => rule.userGroups.includes(group))) return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0) return matchesResource(rule, attributes);
  if (rule.nonResourceURLs.length > 0)
    return !attributes.isResourceRequest && rule.nonResourceURLs.some((url) => matchesPath(url, attributes.path));
  return true;
}

function matchesResource(rule: Rule, attributes: AuthorizationAttributes): boolean {
  if (!attributes.isResourceRequest) return false;
  if (rule.namespaces.length > 0 && !rule.namespaces.includes(attributes.namespace)) return false;
  return rule.resources.length === 0 || rule.resources.some((wanted) => matchesGroup(wanted, attributes));
}

function matchesGroup(
  { group, resources, resourceNames }: Required<AuditGroupResources>,
  attributes: AuthorizationAttributes,
): boolean {
  if (group !== attributes.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(attributes.name)) return false;
  const { resource, subresource } = attributes;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (wanted) =>
      wanted === '*' ||
      wanted === combined ||
      (wanted.startsWith('*/') && subresource !== '' && wanted.slice(2) === subresource) ||
      (wanted.endsWith('/*') && wanted.slice(0, -2) === resource),
  );
}

function matchesPath(url: string, path: string): boolean {
  if (url === '*') return true;
  return url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url;
}
