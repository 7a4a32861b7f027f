import {
  type DeepReadonly,
  type Json,
  type KubeObject,
  type LabelSelector,
  type LogicalClusterName,
  labelSelectorFromObject,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import type { AdmissionAttributes } from '../plugin.ts';
import { listOf, objectOf, textOf } from './read-fields.ts';
import { isNamespaceKind, requestRule, ruleMatches, type RequestRule, type RuledRequest } from './request-rule.ts';

/** Which requests a webhook, a policy or a binding is about (K6.4, K6.6). */
export interface MatchCriteria {
  readonly rules: readonly RequestRule[];
  readonly excluded: readonly RequestRule[];
  /** Rules also select a request for another version of what they name. */
  readonly equivalent: boolean;
  readonly namespaces: LabelSelector;
  readonly objects: LabelSelector;
}

/** The criteria in a webhook (`rules`) or in what a policy or binding matches (`resourceRules`). */
export function matchCriteria(source: Json | undefined): MatchCriteria {
  return {
    rules: [...listOf(source, 'rules'), ...listOf(source, 'resourceRules')].map(requestRule),
    excluded: listOf(source, 'excludeResourceRules').map(requestRule),
    equivalent: textOf(source, 'matchPolicy') !== 'Exact',
    namespaces: labelSelectorFromObject(objectOf(source, 'namespaceSelector') ?? {}),
    objects: labelSelectorFromObject(objectOf(source, 'objectSelector') ?? {}),
  };
}

export interface RequestMatcherModules {
  /** Namespaces of this shard. */
  readonly namespaces: Lister;
  /** Every version under which the same objects are served, the given one left out. */
  readonly equivalents: (cluster: LogicalClusterName, definition: ResourceDefinition) => readonly ResourceDefinition[];
}

/** Decides whether criteria select a request. Cheap things come first; nobody is asked anything. */
export class RequestMatcher {
  readonly #modules: RequestMatcherModules;
  readonly #found = new WeakMap<AdmissionAttributes, readonly ResourceDefinition[]>();

  constructor(modules: RequestMatcherModules) {
    this.#modules = modules;
  }

  /**
   * The definition by which the criteria select the request: its own, or that of another version they name. Undefined:
   * they do not. Throws NotFound when the namespace to judge by is missing. `allWithoutRules`: no rule selects everything
   * (bindings).
   */
  match(
    criteria: MatchCriteria,
    attributes: AdmissionAttributes,
    { allWithoutRules = false }: { readonly allWithoutRules?: boolean } = {},
  ): ResourceDefinition | undefined {
    const { definition } = attributes;
    const request: RuledRequest = {
      operation: attributes.operation,
      subresource: attributes.subresource,
      namespace: namespaceOf(attributes),
      name: attributes.name,
    };
    const byRules =
      allWithoutRules && criteria.rules.length === 0
        ? definition
        : this.#byRules(criteria.rules, criteria, attributes, request);
    if (byRules === undefined) return undefined;
    if (criteria.excluded.length > 0 && this.#byRules(criteria.excluded, criteria, attributes, request) !== undefined)
      return undefined;
    return this.#namespaceMatches(criteria.namespaces, attributes) && objectMatches(criteria.objects, attributes)
      ? byRules
      : undefined;
  }

  /** The namespace that a request is in; undefined for what is in none. */
  namespaceObject(attributes: AdmissionAttributes): DeepReadonly<KubeObject> | undefined {
    const { cluster, namespace, definition } = attributes;
    if (!definition.namespaced || namespace === '') return undefined;
    return this.#modules.namespaces.get({ cluster, namespace: '', name: namespace });
  }

  #byRules(
    rules: readonly RequestRule[],
    { equivalent }: MatchCriteria,
    attributes: AdmissionAttributes,
    request: RuledRequest,
  ): ResourceDefinition | undefined {
    const { definition } = attributes;
    if (rules.some((rule) => ruleMatches(rule, definition, request))) return definition;
    // Another version can help only where everything else fits.
    if (!equivalent || !rules.some((rule) => rule.operations.has('*') || rule.operations.has(request.operation)))
      return undefined;
    return this.#equivalents(attributes).find((other) => rules.some((rule) => ruleMatches(rule, other, request)));
  }

  /** Found once for a request, however many criteria there are. */
  #equivalents(attributes: AdmissionAttributes): readonly ResourceDefinition[] {
    let found = this.#found.get(attributes);
    if (found === undefined) {
      found = this.#modules.equivalents(attributes.cluster, attributes.definition);
      this.#found.set(attributes, found);
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

/** As reviews show it: a request for a Namespace is in that one. */
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

/** What decides about admission, and what is never stored, is shown to no webhook and no policy (K6.1). */
export const isExempt = ({ group, resource, storage }: ResourceDefinition): boolean =>
  storage === undefined || (group === 'admissionregistration.k8s.io' && configurations.has(resource));
