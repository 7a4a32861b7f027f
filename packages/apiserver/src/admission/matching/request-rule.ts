import type { Json } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { textOf, textsOf } from './read-fields.ts';

/** A rule that matches requests by operation and resource (RuleWithOperations, NamedRuleWithOperations). */
export interface RequestRule {
  readonly operations: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
  /** Pairs of resource and subresource; either may be `*`. */
  readonly resources: readonly (readonly [resource: string, subresource: string])[];
  readonly scope: string;
  /** Names of objects; empty: all. */
  readonly names: ReadonlySet<string>;
}

export function requestRule(rule: Json): RequestRule {
  const scope = textOf(rule, 'scope');
  return {
    operations: new Set(textsOf(rule, 'operations')),
    groups: new Set(textsOf(rule, 'apiGroups')),
    versions: new Set(textsOf(rule, 'apiVersions')),
    resources: textsOf(rule, 'resources').map((text) => {
      const slash = text.indexOf('/');
      return slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)];
    }),
    scope: scope === '' ? '*' : scope,
    names: new Set(textsOf(rule, 'resourceNames')),
  };
}

/** The attributes of a request that rules match. */
export interface MatchedRequest {
  readonly operation: string;
  readonly subresource: string;
  /** For a Namespace its own name. */
  readonly namespace: string;
  readonly name: string;
}

const covers = (set: ReadonlySet<string>, text: string): boolean => set.has('*') || set.has(text);

/** Whether the rule matches the request in the version of the definition. */
export function ruleMatches(rule: RequestRule, definition: ResourceDefinition, request: MatchedRequest): boolean {
  return (
    covers(rule.operations, request.operation) &&
    covers(rule.groups, definition.group) &&
    covers(rule.versions, definition.version) &&
    rule.resources.some(
      ([resource, subresource]) =>
        (resource === '*' || resource === definition.resource) &&
        (subresource === '*' || subresource === request.subresource),
    ) &&
    inScope(rule.scope, definition, request) &&
    (rule.names.size === 0 || rule.names.has(request.name))
  );
}

/** Namespaces are cluster-scoped, although requests for them carry a namespace. */
function inScope(scope: string, definition: ResourceDefinition, { namespace }: MatchedRequest): boolean {
  if (scope === '*') return true;
  const namespaced = namespace !== '' && !isNamespaceKind(definition);
  return namespaced === (scope === 'Namespaced');
}

export const isNamespaceKind = ({ group, resource }: ResourceDefinition): boolean =>
  group === '' && resource === 'namespaces';
