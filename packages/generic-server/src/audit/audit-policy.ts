import { isJsonObject, parseYaml, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { AuthorizationAttributes } from '../authorization/authorizer.ts';

const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof levels)[number];
const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof stages)[number];

/** What is told of one request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface Rule {
  readonly decision: AuditDecision;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

const nothing: AuditDecision = { level: 'None', omitStages: new Set(), omitManagedFields: false };

/** A policy that cannot be used; the message says where and why. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
}

/** Which requests are told about and how much (K9.3): the first rule that matches decides; without one, nothing is told. */
export class AuditPolicy {
  readonly #rules: readonly Rule[];
  private constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** Reads a policy of `audit.k8s.io/v1` in YAML or JSON. Throws an {@link AuditPolicyError}. */
  static parse(text: string): AuditPolicy {
    const policy = parseYaml(text);
    if (!isJsonObject(policy)) throw new AuditPolicyError('the policy is not an object');
    if (policy['apiVersion'] !== 'audit.k8s.io/v1' || policy['kind'] !== 'Policy')
      throw new AuditPolicyError('the policy must be a Policy of audit.k8s.io/v1');
    const rules = policy['rules'];
    if (!Array.isArray(rules) || rules.length === 0) throw new AuditPolicyError('loaded illegal policy with 0 rules');
    const omitStages = stagesOf(policy['omitStages'], 'omitStages');
    const omitManagedFields = policy['omitManagedFields'] === true;
    return new AuditPolicy(rules.map((rule, index) => ruleOf(rule, `rules[${index}]`, omitStages, omitManagedFields)));
  }

  decide(attributes: AuthorizationAttributes): AuditDecision {
    return this.#rules.find((rule) => matches(rule, attributes))?.decision ?? nothing;
  }
}

function ruleOf(value: Json, path: string, omitStages: readonly AuditStage[], omitManagedFields: boolean): Rule {
  if (!isJsonObject(value)) throw new AuditPolicyError(`${path}: must be an object`);
  const level = levels.find((known) => known === value['level']);
  if (level === undefined)
    throw new AuditPolicyError(`${path}.level: Unsupported value: supported values: ${levels.join(', ')}`);
  const nonResourceURLs = texts(value, 'nonResourceURLs', path);
  const resources = groupsOf(value['resources'], `${path}.resources`);
  const namespaces = texts(value, 'namespaces', path);
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0))
    throw new AuditPolicyError(
      `${path}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`,
    );
  for (const url of nonResourceURLs) {
    if (url !== '*' && (!url.startsWith('/') || url.slice(0, -1).includes('*')))
      throw new AuditPolicyError(
        `${path}.nonResourceURLs: ${url} must begin with a slash and may only end with a star`,
      );
  }
  return {
    decision: {
      level,
      omitStages: new Set([...omitStages, ...stagesOf(value['omitStages'], `${path}.omitStages`)]),
      omitManagedFields:
        typeof value['omitManagedFields'] === 'boolean' ? value['omitManagedFields'] : omitManagedFields,
    },
    users: texts(value, 'users', path),
    userGroups: texts(value, 'userGroups', path),
    verbs: texts(value, 'verbs', path),
    resources,
    namespaces,
    nonResourceURLs,
  };
}

function groupsOf(value: Json | undefined, path: string): GroupResources[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new AuditPolicyError(`${path}: must be a list`);
  return value.map((item, index) => {
    const at = `${path}[${index}]`;
    if (!isJsonObject(item)) throw new AuditPolicyError(`${at}: must be an object`);
    const { group } = item;
    const resources = texts(item, 'resources', at);
    const resourceNames = texts(item, 'resourceNames', at);
    if (resourceNames.length > 0 && resources.length === 0)
      throw new AuditPolicyError(`${at}.resourceNames: using resourceNames requires at least one resource`);
    return { group: typeof group === 'string' ? group : '', resources, resourceNames };
  });
}

function texts(holder: JsonObject, field: string, path: string): string[] {
  const value = holder[field];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw new AuditPolicyError(`${path}.${field}: must be a list of texts`);
  return value;
}

function stagesOf(value: Json | undefined, path: string): AuditStage[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new AuditPolicyError(`${path}: must be a list`);
  return value.map((item) => {
    const stage = stages.find((known) => known === item);
    if (stage === undefined)
      throw new AuditPolicyError(`${path}: Unsupported value: supported values: ${stages.join(', ')}`);
    return stage;
  });
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
  { group, resources, resourceNames }: GroupResources,
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
