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
import type { ObjectReader } from '../../registry/object-reader.ts';
import type { ConfigurationCluster } from '../webhooks/webhook-dispatch.ts';
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

/** A policy that is in force for a request, by one binding and with one object of parameters. */
export interface PolicyInForce {
  readonly policy: PolicyHook;
  readonly binding: BindingHook;
  /** The version in which it sees the objects. */
  readonly definition: ResourceDefinition;
  /** Undefined: none. */
  readonly param: DeepReadonly<KubeObject> | undefined;
}

/** A binding whose parameters cannot be had. */
export interface PolicyUnconfigured {
  readonly policy: PolicyHook;
  readonly binding: BindingHook;
  readonly problem: string;
}

const never = new AbortController().signal;

/** Which policies are in force for a request (K6.6, K6.7), in the order of their names and those of their bindings. */
export class PolicyDispatch {
  readonly #modules: PolicyModules;
  /** Bindings by their policy, as long as those of the logical cluster stay the same. */
  readonly #grouped = new WeakMap<readonly BindingHook[], ReadonlyMap<string, readonly BindingHook[]>>();

  constructor(modules: PolicyModules) {
    this.#modules = modules;
  }

  /** The logical cluster whose policies hold for the request; undefined: none of its policies is in force anywhere. */
  clusterOf(attributes: AdmissionAttributes): LogicalClusterName | undefined {
    const { policies, bindings, configurationCluster } = this.#modules;
    if (isExempt(attributes.definition)) return undefined;
    const cluster = configurationCluster(attributes);
    return policies.has(cluster) && bindings.has(cluster) ? cluster : undefined;
  }

  async *inForce(
    cluster: LogicalClusterName,
    attributes: AdmissionAttributes,
  ): AsyncIterableIterator<PolicyInForce | PolicyUnconfigured> {
    const { policies, bindings, matcher, params } = this.#modules;
    const byPolicy = this.#byPolicy(bindings.of(cluster));
    for (const policy of policies.of(cluster)) {
      const own = byPolicy.get(policy.name);
      if (own === undefined) continue;
      const definition = matcher.match(policy.criteria, attributes);
      if (definition === undefined) continue;
      for (const binding of own) {
        const { criteria } = binding;
        if (criteria !== undefined && matcher.match(criteria, attributes, { allWithoutRules: true }) === undefined)
          continue;
        let found;
        try {
          found = await params.of(cluster, policy, binding, {
            namespace: namespaceOf(attributes),
            signal: attributes.signal ?? never,
          });
        } catch (error) {
          if (!(error instanceof ParamsError)) throw error;
          yield { policy, binding, problem: `failed to configure binding: ${error.message}` };
          continue;
        }
        for (const param of found) yield { policy, binding, definition, param };
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
   * What evaluates the expressions of a policy in force; undefined when its conditions leave the request out, a text when
   * they cannot be judged.
   */
  async evaluation(
    { policy, definition, param }: PolicyInForce,
    attributes: AdmissionAttributes,
    objects: RequestObjects,
    { judged = false }: { /** The conditions were judged already. */ readonly judged?: boolean } = {},
  ): Promise<AdmissionEvaluation | string | undefined> {
    const input = {
      attributes,
      objects,
      definition,
      namespace: this.#modules.matcher.namespaceObject(attributes),
      param,
    };
    const { matchConditions, variables } = policy.expressions;
    if (matchConditions.length > 0 && !judged) {
      const conditions = await AdmissionEvaluation.of(
        { ...input, names: { params: policy.paramKind !== undefined, patches: false }, budget: conditionsBudget },
        this.#modules,
      );
      const held = await conditions.conditions(matchConditions);
      if (held === false) return undefined;
      if (held !== true) return held.length === 1 ? held[0] : `[${held.join(', ')}]`;
    }
    const names = { params: policy.paramKind !== undefined, patches: policy.expressions.mutations.length > 0 };
    return AdmissionEvaluation.of({ ...input, names, variables, budget: policyBudget }, this.#modules);
  }
}
