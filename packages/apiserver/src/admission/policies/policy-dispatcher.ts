import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  AdmissionEvaluation,
  conditionsBudget,
  policyBudget,
  type EvaluationModules,
} from '../admission-evaluation.ts';
import type { ClusterConfigurations } from '../matching/cluster-configurations.ts';
import { isExempt, namespaceOf, type RequestMatcher } from '../matching/request-matcher.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { RequestObjects } from '../request-objects.ts';
import type { ObjectReader } from '../../registry/store/object-reader.ts';
import type { ConfigurationCluster } from '../webhooks/webhook-dispatcher.ts';
import type { BindingHook, PolicyHook } from './policy-hook.ts';
import { ParamsError, type PolicyParams } from './policy-params.ts';

export interface PolicyModules extends EvaluationModules {
  readonly policies: ClusterConfigurations<PolicyHook>;
  readonly bindings: ClusterConfigurations<BindingHook>;
  readonly configurationCluster: ConfigurationCluster;
  readonly matcher: RequestMatcher;
  readonly params: PolicyParams;
  readonly reader: ObjectReader;
}

/** A policy that applies to a request by one binding, with one parameter object. */
export interface PolicyInvocation {
  readonly policy: PolicyHook;
  readonly binding: BindingHook;
  /** The version in which it sees the objects. */
  readonly definition: ResourceDefinition;
  /** The parameter object; undefined: none. */
  readonly param: DeepReadonly<KubeObject> | undefined;
}

/** A binding whose parameters cannot be resolved. */
export interface MisconfiguredPolicy {
  readonly policy: PolicyHook;
  readonly binding: BindingHook;
  readonly problem: string;
}

const never = new AbortController().signal;

/** Finds the policies that apply to a request, ordered by policy name, then binding name. */
export class PolicyDispatcher {
  readonly #modules: PolicyModules;
  /** Bindings by policy, for the current list of bindings. */
  readonly #grouped = new WeakMap<readonly BindingHook[], ReadonlyMap<string, readonly BindingHook[]>>();

  constructor(modules: PolicyModules) {
    this.#modules = modules;
  }

  /** The logical cluster whose policies apply to the request; undefined if it has no policies with bindings. */
  policyCluster(attributes: AdmissionAttributes): LogicalClusterName | undefined {
    const { policies, bindings, configurationCluster } = this.#modules;
    if (isExempt(attributes.definition)) return undefined;
    const cluster = configurationCluster(attributes);
    return policies.has(cluster) && bindings.has(cluster) ? cluster : undefined;
  }

  async *invocations(
    cluster: LogicalClusterName,
    attributes: AdmissionAttributes,
  ): AsyncIterableIterator<PolicyInvocation | MisconfiguredPolicy> {
    const { policies, bindings, matcher, params } = this.#modules;
    const byPolicy = this.#byPolicy(bindings.of(cluster));
    for (const policy of policies.of(cluster)) {
      const policyBindings = byPolicy.get(policy.name);
      if (policyBindings === undefined) continue;
      const definition = matcher.match(policy.criteria, attributes);
      if (definition === undefined) continue;
      for (const binding of policyBindings) {
        const { criteria } = binding;
        if (criteria !== undefined && matcher.match(criteria, attributes, { matchAllWithoutRules: true }) === undefined)
          continue;
        let resolved;
        try {
          resolved = await params.of(cluster, policy, binding, {
            namespace: namespaceOf(attributes),
            signal: attributes.signal ?? never,
          });
        } catch (error) {
          if (!(error instanceof ParamsError)) throw error;
          yield { policy, binding, problem: `failed to configure binding: ${error.message}` };
          continue;
        }
        for (const param of resolved) yield { policy, binding, definition, param };
      }
    }
  }

  #byPolicy(bindings: readonly BindingHook[]): ReadonlyMap<string, readonly BindingHook[]> {
    let byPolicy = this.#grouped.get(bindings);
    if (byPolicy === undefined) {
      byPolicy = Map.groupBy(bindings, ({ policy }) => policy);
      this.#grouped.set(bindings, byPolicy);
    }
    return byPolicy;
  }

  /**
   * Evaluates a policy's match conditions: false if they exclude the request, an error message if they fail. As in Kubernetes,
   * they see null as `namespaceObject`.
   */
  async matches(
    { policy, definition, param }: PolicyInvocation,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<boolean | string> {
    const { matchConditions } = policy.expressions;
    if (matchConditions.length === 0) return true;
    const names = { params: policy.paramKind !== undefined, patches: false };
    const conditions = await AdmissionEvaluation.of(
      { attributes, objects, definition, namespace: undefined, param, names, budget: conditionsBudget },
      this.#modules,
    );
    const outcome = await conditions.conditions(matchConditions);
    if (typeof outcome === 'boolean') return outcome;
    return outcome.length === 1 ? (outcome[0] as string) : `[${outcome.join(', ')}]`;
  }

  /** Creates the evaluation of a policy's expressions. */
  evaluation(
    { policy, definition, param }: PolicyInvocation,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
  ): Promise<AdmissionEvaluation> {
    const { mutations, variables } = policy.expressions;
    const namespace = this.#modules.matcher.namespaceObject(attributes);
    const names = { params: policy.paramKind !== undefined, patches: mutations.length > 0 };
    return AdmissionEvaluation.of(
      { attributes, objects, definition, namespace, param, names, variables, budget: policyBudget },
      this.#modules,
    );
  }
}
