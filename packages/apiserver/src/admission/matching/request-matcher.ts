import {
  type DeepReadonly,
  type Json,
  type KubeObject,
  type LabelSelector,
  type LogicalClusterName,
  isJsonObject,
  labelSelectorFromObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import type { AdmissionAttributes } from '../plugin.ts';
import { listOf, objectOf, textOf } from './read-fields.ts';
import { isNamespaceKind, requestRule, ruleMatches, type RequestRule, type MatchedRequest } from './request-rule.ts';

/** Which requests a webhook, policy or binding matches. */
export interface MatchCriteria {
  readonly rules: readonly RequestRule[];
  readonly excluded: readonly RequestRule[];
  /** Rules also match requests for other versions of the named resources (matchPolicy Equivalent). */
  readonly equivalent: boolean;
  readonly namespaces: LabelSelector;
  readonly objects: LabelSelector;
}

/** The criteria of a webhook (`rules`) or of `matchConstraints` of a policy and `matchResources` of a binding. */
export function matchCriteria(source: Json | undefined): MatchCriteria {
  return {
    rules: [...listOf(source, 'rules'), ...listOf(source, 'resourceRules')].map(requestRule),
    excluded: listOf(source, 'excludeResourceRules').map(requestRule),
    equivalent: textOf(source, 'matchPolicy') !== 'Exact',
    namespaces: labelSelectorFromObject(objectOf(source, 'namespaceSelector') ?? {}),
    objects: labelSelectorFromObject(objectOf(source, 'objectSelector') ?? {}),
  };
}

/** {@link matchCriteria} with the rules alone: matches at least what the whole matches, and reads no selector. */
export const matchCriteriaOfRules = (source: Json | undefined): MatchCriteria => {
  const { namespaceSelector: _namespaces, objectSelector: _objects, ...rules } = isJsonObject(source) ? source : {};
  return matchCriteria(rules);
};

export interface RequestMatcherModules {
  /** Namespaces of this shard. */
  readonly namespaces: Lister;
  /** The other versions in which the objects of a definition are served. */
  readonly equivalents: (cluster: LogicalClusterName, definition: ResourceDefinition) => readonly ResourceDefinition[];
}

/** Decides whether criteria match a request. Cheap checks come first; nothing is awaited. */
export class RequestMatcher {
  readonly #modules: RequestMatcherModules;
  readonly #equivalentsByRequest = new WeakMap<AdmissionAttributes, readonly ResourceDefinition[]>();

  constructor(modules: RequestMatcherModules) {
    this.#modules = modules;
  }

  /**
   * The definition in whose version the criteria match the request: its own, or an equivalent one. Undefined: no match.
   * Throws NotFound if the namespace is missing. `matchAllWithoutRules`: without rules everything matches (bindings).
   */
  match(
    criteria: MatchCriteria,
    attributes: AdmissionAttributes,
    { matchAllWithoutRules = false }: { readonly matchAllWithoutRules?: boolean } = {},
  ): ResourceDefinition | undefined {
    const { definition } = attributes;
    const request: MatchedRequest = {
      operation: attributes.operation,
      subresource: attributes.subresource,
      namespace: namespaceOf(attributes),
      name: attributes.name,
    };
    const byRules =
      matchAllWithoutRules && criteria.rules.length === 0
        ? definition
        : this.#byRules(criteria.rules, criteria, attributes, request);
    if (byRules === undefined) return undefined;
    if (criteria.excluded.length > 0 && this.#byRules(criteria.excluded, criteria, attributes, request) !== undefined)
      return undefined;
    return this.#namespaceMatches(criteria.namespaces, attributes) && objectMatches(criteria.objects, attributes)
      ? byRules
      : undefined;
  }

  /** The namespace of a request; undefined for cluster-scoped requests. */
  namespaceObject(attributes: AdmissionAttributes): DeepReadonly<KubeObject> | undefined {
    const { cluster, namespace, definition } = attributes;
    if (!definition.namespaced || namespace === '') return undefined;
    return this.#modules.namespaces.get({ cluster, namespace: '', name: namespace });
  }

  #byRules(
    rules: readonly RequestRule[],
    { equivalent }: MatchCriteria,
    attributes: AdmissionAttributes,
    request: MatchedRequest,
  ): ResourceDefinition | undefined {
    const { definition } = attributes;
    if (rules.some((rule) => ruleMatches(rule, definition, request))) return definition;
    // An equivalent version can only match if the operation does.
    if (!equivalent || !rules.some((rule) => rule.operations.has('*') || rule.operations.has(request.operation)))
      return undefined;
    return this.#equivalents(attributes).find((other) => rules.some((rule) => ruleMatches(rule, other, request)));
  }

  /** Computed once per request. */
  #equivalents(attributes: AdmissionAttributes): readonly ResourceDefinition[] {
    let found = this.#equivalentsByRequest.get(attributes);
    if (found === undefined) {
      found = this.#modules.equivalents(attributes.cluster, attributes.definition);
      this.#equivalentsByRequest.set(attributes, found);
    }
    return found;
  }

  #namespaceMatches(selector: LabelSelector, attributes: AdmissionAttributes): boolean {
    if (selector.empty) return true;
    const { definition, cluster, object, oldObject, namespace } = attributes;
    if (isNamespaceKind(definition)) {
      return selector.matches((object ?? oldObject)?.metadata.labels);
    }
    if (!definition.namespaced || namespace === '') return true;
    const found = this.#modules.namespaces.get({ cluster, namespace: '', name: namespace });
    if (found === undefined) throw statusErrors.notFound({ group: '', resource: 'namespaces' }, namespace);
    return selector.matches(found.metadata.labels);
  }
}

/** The namespace in reviews: a request for a Namespace has its own name there. */
export function namespaceOf({ definition, namespace, name }: AdmissionAttributes): string {
  return isNamespaceKind(definition) ? name : namespace;
}

function objectMatches(selector: LabelSelector, { object, oldObject }: AdmissionAttributes): boolean {
  if (selector.empty) return true;
  return [object, oldObject].some((one) => one !== undefined && selector.matches(one.metadata.labels));
}

const configurations = new Set([
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

/** Admission configurations and objects that are not stored are exempt from webhooks and policies. */
export const isExempt = ({ group, resource, storage }: ResourceDefinition): boolean =>
  storage === undefined || (group === 'admissionregistration.k8s.io' && configurations.has(resource));
