import { quote, type DeepReadonly } from '@multiplane/apimachinery';
import type { AuthorizationAttributes } from './authorizer.ts';

/** A PolicyRule of rbac.authorization.k8s.io/v1. */
export interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}
type Rule = DeepReadonly<PolicyRule>;

const none: readonly string[] = [];
const has = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(value));

/** Whether a rule allows a request. A request without a name never matches a rule with resource names. */
export function ruleAllows(rule: Rule, request: AuthorizationAttributes): boolean {
  if (!has(rule.verbs, request.verb)) return false;
  if (!request.isResourceRequest) return (rule.nonResourceURLs ?? none).some((url) => urlMatches(url, request.path));
  return (
    has(rule.apiGroups, request.group) &&
    resourceMatches(rule.resources ?? none, request.resource, request.subresource) &&
    (rule.resourceNames === undefined || rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name))
  );
}

/** `*` includes subresources; the pattern of a star, a slash and a subresource matches that subresource of all resources. */
function resourceMatches(resources: readonly string[], resource: string, subresource: string): boolean {
  const requested = subresource === '' ? resource : `${resource}/${subresource}`;
  for (const candidate of resources) {
    if (candidate === '*' || candidate === requested) return true;
    if (subresource !== '' && candidate.startsWith('*/') && candidate.slice(2) === subresource) return true;
  }
  return false;
}

function urlMatches(pattern: string, path: string): boolean {
  return pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)));
}

/** One verb on one resource or URL, for one name or for all. */
interface SimpleRule {
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly resourceName: string | undefined;
  readonly url: string | undefined;
}

/**
 * The parts of `wanted` that `owned` does not cover, merged by group, resource and name, in the order in which Kubernetes prints
 * them. Empty: a user with `owned` may grant `wanted` without privilege escalation.
 */
export function uncoveredRules(owned: readonly Rule[], wanted: readonly Rule[]): PolicyRule[] {
  const missing = wanted.flatMap(breakDown).filter((simple) => !owned.some((rule) => covers(rule, simple)));
  return compact(missing);
}

function breakDown(rule: Rule): SimpleRule[] {
  const simple: SimpleRule[] = [];
  const verbs = rule.verbs ?? none;
  const names = rule.resourceNames === undefined || rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
  for (const apiGroup of rule.apiGroups ?? none)
    for (const resource of rule.resources ?? none)
      for (const verb of verbs)
        for (const resourceName of names) simple.push({ verb, apiGroup, resource, resourceName, url: undefined });
  for (const url of rule.nonResourceURLs ?? none)
    for (const verb of verbs) simple.push({ verb, apiGroup: '', resource: '', resourceName: undefined, url });
  return simple;
}

function covers(owned: Rule, wanted: SimpleRule): boolean {
  if (!has(owned.verbs, wanted.verb)) return false;
  if (wanted.url !== undefined) {
    return (owned.nonResourceURLs ?? none).some(
      (url) =>
        url === '*' || url === wanted.url || (url.endsWith('*') && (wanted.url as string).startsWith(url.slice(0, -1))),
    );
  }
  if (!has(owned.apiGroups, wanted.apiGroup)) return false;
  const slash = wanted.resource.indexOf('/');
  const covered = (owned.resources ?? none).some(
    (resource) =>
      resource === '*' ||
      resource === wanted.resource ||
      (slash >= 0 && resource === `*${wanted.resource.slice(slash)}`),
  );
  if (!covered) return false;
  if (owned.resourceNames === undefined || owned.resourceNames.length === 0) return true;
  return wanted.resourceName !== undefined && owned.resourceNames.includes(wanted.resourceName);
}

/**
 * Merges rules for the same resource and name, and sorts all by their text. As in Kubernetes a verb that is missing several
 * times is named as often, and each verb on a URL is a rule of its own.
 */
function compact(simple: readonly SimpleRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  for (const { apiGroup, resource, resourceName, url, verb } of simple) {
    const key = JSON.stringify([
      apiGroup,
      resource,
      resourceName ?? null,
      url ?? null,
      url === undefined ? null : verb,
    ]);
    const known = merged.get(key);
    if (url !== undefined) merged.set(key, { verbs: [verb], nonResourceURLs: [url] });
    else if (known !== undefined) known.verbs.push(verb);
    else {
      const names = resourceName === undefined ? {} : { resourceNames: [resourceName] };
      merged.set(key, { verbs: [verb], apiGroups: [apiGroup], resources: [resource], ...names });
    }
  }
  return [...merged.values()].sort((a, b) => (ruleText(a) < ruleText(b) ? -1 : 1));
}

/** A rule in the format of error messages: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`. */
export function ruleText(rule: Rule): string {
  const listText = (list: readonly string[]): string => `[${list.map(quote).join(' ')}]`;
  const parts: string[] = [];
  if (rule.apiGroups !== undefined && rule.apiGroups.length > 0) parts.push(`APIGroups:${listText(rule.apiGroups)}`);
  if (rule.resources !== undefined && rule.resources.length > 0) parts.push(`Resources:${listText(rule.resources)}`);
  if (rule.nonResourceURLs !== undefined && rule.nonResourceURLs.length > 0)
    parts.push(`NonResourceURLs:${listText(rule.nonResourceURLs)}`);
  if (rule.resourceNames !== undefined && rule.resourceNames.length > 0)
    parts.push(`ResourceNames:${listText(rule.resourceNames)}`);
  if (rule.verbs !== undefined && rule.verbs.length > 0) parts.push(`Verbs:${listText(rule.verbs)}`);
  return `{${parts.join(', ')}}`;
}
