import {
  encodeJson,
  labelSelectorFromObject,
  statusErrors,
  type DeepReadonly,
  type Json,
  type KubeObject,
  type LabelSelector,
} from '@multiplane/apimachinery';
import { compileMatchConditions, compilePolicy, type NamedExpression, type PolicyExpressions } from '@multiplane/apis';
import { LRUCache } from 'lru-cache';
import { listOf, objectOf, textOf, textsOf } from '../matching/read-fields.ts';
import { matchCriteria, matchCriteriaOfRules, type MatchCriteria } from '../matching/request-matcher.ts';

/** The kind of the parameters of a policy. */
export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A compiled policy. */
export interface PolicyHook {
  readonly name: string;
  readonly criteria: MatchCriteria;
  readonly expressions: PolicyExpressions;
  readonly ignoresFailure: boolean;
  readonly paramKind: ParamKind | undefined;
  readonly isReinvocable: boolean;
}

/** The parameter reference of a binding. */
export interface ParamRef {
  readonly name: string;
  /** Empty: the namespace of the request. */
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  readonly denyIfNotFound: boolean;
}

/** A compiled policy binding. */
export interface BindingHook {
  readonly name: string;
  readonly policy: string;
  /** Undefined: all requests that the policy matches. */
  readonly criteria: MatchCriteria | undefined;
  readonly paramRef: ParamRef | undefined;
  readonly actions: readonly string[];
}

/** Limit of cached expressions by source length; compiled programs take about a hundred times as much memory. */
const maxSourceBytes = 1024 * 1024;

/** Compiled expressions by source, so that the same policy in a thousand logical clusters is compiled once. */
export class ExpressionCache {
  readonly #cache = new LRUCache<string, PolicyExpressions | readonly NamedExpression[]>({
    maxSize: maxSourceBytes,
    sizeCalculation: (_value, source) => Math.min(source.length, maxSourceBytes),
  });

  /** Returns a function that compiles the expressions of a policy, or takes them from the cache. */
  policyExpressions(policy: DeepReadonly<KubeObject>): () => PolicyExpressions {
    const spec = objectOf(policy, 'spec') ?? {};
    const { paramKind, matchConditions, variables, validations, auditAnnotations, mutations } = spec;
    const content = [paramKind, matchConditions, variables, validations, auditAnnotations, mutations];
    const key = encodeJson(content.map((part) => part ?? null));
    return () => this.#get(key, () => compilePolicy(policy)) as PolicyExpressions;
  }

  /** The same for the match conditions of a webhook. */
  matchConditions(webhook: Json): () => readonly NamedExpression[] {
    const conditions = listOf(webhook, 'matchConditions');
    if (conditions.length === 0) return () => [];
    const key = encodeJson({ conditions: [...conditions] });
    const compile = (): NamedExpression[] => compileMatchConditions(conditions, { params: false });
    return () => this.#get(key, compile) as readonly NamedExpression[];
  }

  #get(
    key: string,
    compile: () => PolicyExpressions | readonly NamedExpression[],
  ): PolicyExpressions | readonly NamedExpression[] {
    let value = this.#cache.get(key);
    if (value === undefined) {
      value = compile();
      this.#cache.set(key, value);
    }
    return value;
  }
}

export function policyHook(policy: DeepReadonly<KubeObject>, compiled: ExpressionCache): PolicyHook {
  const spec = objectOf(policy, 'spec');
  const expressions = compiled.policyExpressions(policy);
  const paramKind = objectOf(spec, 'paramKind');
  return {
    name: policy.metadata.name ?? '',
    criteria: matchCriteria(objectOf(spec, 'matchConstraints')),
    get expressions() {
      return expressions();
    },
    ignoresFailure: textOf(spec, 'failurePolicy') === 'Ignore',
    paramKind:
      paramKind === undefined
        ? undefined
        : { apiVersion: textOf(paramKind, 'apiVersion'), kind: textOf(paramKind, 'kind') },
    isReinvocable: textOf(spec, 'reinvocationPolicy') === 'IfNeeded',
  };
}

/**
 * What stands for a policy that cannot be compiled: it fails the requests that its rules match, unless its failure policy is to
 * ignore failures.
 */
export function brokenPolicyHook(policy: DeepReadonly<KubeObject>, cause: unknown): PolicyHook | undefined {
  const spec = objectOf(policy, 'spec');
  if (textOf(spec, 'failurePolicy') === 'Ignore') return undefined;
  const name = policy.metadata.name ?? '';
  return {
    name,
    criteria: matchCriteriaOfRules(objectOf(spec, 'matchConstraints')),
    get expressions(): never {
      throw brokenConfiguration(`policy ${name}`, cause);
    },
    ignoresFailure: false,
    paramKind: undefined,
    isReinvocable: false,
  };
}

/** The same for a binding, whose failure is one of its policy. */
export function brokenBindingHook(binding: DeepReadonly<KubeObject>, cause: unknown): BindingHook {
  const name = binding.metadata.name ?? '';
  const match = objectOf(objectOf(binding, 'spec'), 'matchResources');
  return {
    name,
    policy: textOf(objectOf(binding, 'spec'), 'policyName'),
    criteria: match === undefined ? undefined : matchCriteriaOfRules(match),
    get paramRef(): never {
      throw brokenConfiguration(`policy binding ${name}`, cause);
    },
    actions: [],
  };
}

export const brokenConfiguration = (what: string, cause: unknown): Error =>
  statusErrors.internal(
    new Error(`failed to compile ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause }),
  );

export function bindingHook(binding: DeepReadonly<KubeObject>): BindingHook {
  const spec = objectOf(binding, 'spec');
  const match = objectOf(spec, 'matchResources');
  const paramRef = objectOf(spec, 'paramRef');
  const selector = objectOf(paramRef, 'selector');
  return {
    name: binding.metadata.name ?? '',
    policy: textOf(spec, 'policyName'),
    criteria: match === undefined ? undefined : matchCriteria(match),
    paramRef:
      paramRef === undefined
        ? undefined
        : {
            name: textOf(paramRef, 'name'),
            namespace: textOf(paramRef, 'namespace'),
            selector: selector === undefined ? undefined : labelSelectorFromObject(selector),
            denyIfNotFound: textOf(paramRef, 'parameterNotFoundAction') === 'Deny',
          },
    actions: textsOf(spec, 'validationActions'),
  };
}
