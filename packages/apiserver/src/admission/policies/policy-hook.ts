import {
  encodeJson,
  labelSelectorFromObject,
  type DeepReadonly,
  type Json,
  type KubeObject,
  type LabelSelector,
} from '@multiplane/apimachinery';
import { compileMatchConditions, compilePolicy, type NamedExpression, type PolicyExpressions } from '@multiplane/apis';
import { RecentlyUsed } from '../../recently-used.ts';
import { listOf, objectOf, textOf, textsOf } from '../matching/read-fields.ts';
import { matchCriteria, type MatchCriteria } from '../matching/request-matcher.ts';

/** A kind of parameters, `apiVersion` and kind. */
export interface ParamKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A policy, ready to be used. */
export interface PolicyHook {
  readonly name: string;
  readonly criteria: MatchCriteria;
  readonly expressions: PolicyExpressions;
  readonly ignoresFailure: boolean;
  readonly paramKind: ParamKind | undefined;
  readonly reinvoked: boolean;
}

/** Which parameters a binding brings. */
export interface ParamRef {
  readonly name: string;
  /** Empty: that of the request. */
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  readonly denyWithout: boolean;
}

/** What puts a policy into force. */
export interface BindingHook {
  readonly name: string;
  readonly policy: string;
  /** Undefined: everything that the policy matches. */
  readonly criteria: MatchCriteria | undefined;
  readonly paramRef: ParamRef | undefined;
  readonly actions: readonly string[];
}

/** Text of the expressions whose programs are kept; those take about a hundred times as much. */
const maxSourceBytes = 1024 * 1024;

/** Programs by what they were compiled of: the same policy in a thousand logical clusters is compiled once. */
export class CompiledExpressions {
  readonly #kept = new RecentlyUsed<string, PolicyExpressions | readonly NamedExpression[]>(
    maxSourceBytes,
    (_value, source) => source.length,
  );

  /** What gives the expressions of a policy, whether they are kept or not. */
  ofPolicy(policy: DeepReadonly<KubeObject>): () => PolicyExpressions {
    const spec = objectOf(policy, 'spec') ?? {};
    const { paramKind, matchConditions, variables, validations, auditAnnotations, mutations } = spec;
    const content = [paramKind, matchConditions, variables, validations, auditAnnotations, mutations];
    const key = encodeJson(content.map((part) => part ?? null));
    return () => this.#get(key, () => compilePolicy(policy)) as PolicyExpressions;
  }

  /** The same for the conditions of a webhook. */
  ofConditions(webhook: Json): () => readonly NamedExpression[] {
    const conditions = listOf(webhook, 'matchConditions');
    if (conditions.length === 0) return () => [];
    const key = encodeJson({ conditions: [...conditions] });
    const make = (): NamedExpression[] => compileMatchConditions(conditions, { params: false });
    return () => this.#get(key, make) as readonly NamedExpression[];
  }

  #get(
    key: string,
    make: () => PolicyExpressions | readonly NamedExpression[],
  ): PolicyExpressions | readonly NamedExpression[] {
    let value = this.#kept.get(key);
    if (value === undefined) {
      value = make();
      this.#kept.set(key, value);
    }
    return value;
  }
}

export function policyHook(policy: DeepReadonly<KubeObject>, compiled: CompiledExpressions): PolicyHook {
  const spec = objectOf(policy, 'spec');
  const expressions = compiled.ofPolicy(policy);
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
    reinvoked: textOf(spec, 'reinvocationPolicy') === 'IfNeeded',
  };
}

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
            denyWithout: textOf(paramRef, 'parameterNotFoundAction') === 'Deny',
          },
    actions: textsOf(spec, 'validationActions'),
  };
}
