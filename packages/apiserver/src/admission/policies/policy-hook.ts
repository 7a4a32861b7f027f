import {
  encodeJson,
  labelSelectorFromObject,
  type DeepReadonly,
  type Json,
  type KubeObject,
  type LabelSelector,
} from '@multiplane/apimachinery';
import { compileMatchConditions, compilePolicy, type NamedExpression, type PolicyExpressions } from '@multiplane/apis';
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

/** Contents whose programs are kept. */
const maxPrograms = 1024;

/** Programs by what they were compiled of: the same policy in a thousand logical clusters is compiled once. */
export class CompiledExpressions {
  readonly #policies = new Map<string, PolicyExpressions>();
  readonly #conditions = new Map<string, readonly NamedExpression[]>();

  ofPolicy(policy: DeepReadonly<KubeObject>): PolicyExpressions {
    const spec = objectOf(policy, 'spec') ?? {};
    const { paramKind, matchConditions, variables, validations, auditAnnotations, mutations } = spec;
    const content = [paramKind, matchConditions, variables, validations, auditAnnotations, mutations];
    return kept(this.#policies, encodeJson(content.map((part) => part ?? null)), () => compilePolicy(policy));
  }

  /** Of a webhook. */
  ofConditions(webhook: Json): readonly NamedExpression[] {
    const conditions = listOf(webhook, 'matchConditions');
    if (conditions.length === 0) return [];
    return kept(this.#conditions, encodeJson([...conditions]), () =>
      compileMatchConditions(conditions, { params: false }),
    );
  }
}

function kept<T>(known: Map<string, T>, key: string, make: () => T): T {
  const value = known.get(key) ?? make();
  // A Map keeps the order of insertion: the first is always the least recently used.
  known.delete(key);
  if (known.size >= maxPrograms) known.delete(known.keys().next().value as string);
  known.set(key, value);
  return value;
}

export function policyHook(policy: DeepReadonly<KubeObject>, compiled: CompiledExpressions): PolicyHook {
  const spec = objectOf(policy, 'spec');
  const paramKind = objectOf(spec, 'paramKind');
  return {
    name: policy.metadata.name ?? '',
    criteria: matchCriteria(objectOf(spec, 'matchConstraints')),
    expressions: compiled.ofPolicy(policy),
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
