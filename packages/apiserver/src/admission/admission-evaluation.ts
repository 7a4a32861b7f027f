import type { DeepReadonly, KubeObject, UserInfo } from '@multiplane/apimachinery';
import { namespaceType, requestType, type NamedExpression, type ResourceDefinition } from '@multiplane/apis';
import {
  CelAuthorizerValue,
  CelCostError,
  CelError,
  CelObject,
  celTypes,
  perCallLimit,
  valueOf,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelFields,
  type CelProgram,
  type CelType,
  type CelValue,
} from '@multiplane/schema';
import { clusterNameExtra } from '../authentication/service-account-tokens.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { giveWay } from '../registry/give-way.ts';
import { admissionRequest, namespaceView } from './admission-request.ts';
import { namespaceOf } from './matching/request-matcher.ts';
import type { AdmissionAttributes } from './plugin.ts';
import type { RequestObjects } from './request-objects.ts';

/** Cost units that the expressions of one policy and binding may use together (K6.8). */
export const policyBudget = 10_000_000;
/** The same for the match conditions of one webhook. */
export const conditionsBudget = 2_500_000;
/** What Kubernetes says when a budget is used up. */
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';
/** How long expressions hold the event loop at a time. */
const sliceMs = 8;

export interface EvaluationModules {
  /** Answers `authorizer` of expressions. */
  readonly authorizer: Authorizer;
}

export interface EvaluationInput {
  readonly attributes: AdmissionAttributes;
  readonly objects: RequestObjects;
  /** The version in which expressions see the objects. */
  readonly definition: ResourceDefinition;
  readonly namespace: DeepReadonly<KubeObject> | undefined;
  readonly budget: number;
  /** Undefined: null. */
  readonly params?: CelValue | undefined;
  readonly variables?: readonly NamedExpression[] | undefined;
}

/** What an expression came to: a value, or an error in Kubernetes' words. */
export type Evaluated =
  | { readonly value: CelValue; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

/** Thrown out of an evaluation that needs an answer which is not there yet. */
class PendingDecision extends Error {
  readonly query: AuthorizationQuery;
  readonly key: string;
  constructor(query: AuthorizationQuery, key: string) {
    super('the decision has to be asked for');
    this.query = query;
    this.key = key;
  }
}

/**
 * Evaluates the expressions of one webhook or policy for one request, within one budget (K6.6, K6.8).
 *
 * Variables of the policy are evaluated when an expression first uses them, and once. Evaluation itself does not wait:
 * a question to the authorizer that has no answer yet breaks it off; the answer is fetched, and it is done again. A check
 * costs a third of what an expression may, so that happens three times at most.
 */
export class AdmissionEvaluation {
  readonly #input: EvaluationInput;
  readonly #authorizer: Authorizer;
  readonly #decisions = new Map<string, AuthorizationDecision>();
  readonly #values: Readonly<Record<string, CelValue>>;
  #left: number;
  #slice = performance.now();

  private constructor(input: EvaluationInput, modules: EvaluationModules, object: CelValue, oldObject: CelValue) {
    this.#input = input;
    this.#authorizer = modules.authorizer;
    this.#left = input.budget;
    const { attributes, definition, namespace, params, variables } = input;
    const authorizer = new CelAuthorizerValue({ check: (query) => this.#check(query) });
    this.#values = {
      object,
      oldObject,
      request: valueOf(admissionRequest(attributes, definition), requestType),
      namespaceObject: namespace === undefined ? null : valueOf(namespaceView(namespace), namespaceType),
      params: params ?? null,
      authorizer,
      'authorizer.requestResource': authorizer.with(
        {
          group: attributes.definition.group,
          resource: attributes.definition.resource,
          subresource: attributes.subresource,
          namespace: namespaceOf(attributes),
          name: attributes.name,
        },
        'resource',
      ),
      ...(variables === undefined || variables.length === 0
        ? {}
        : { variables: new CelObject(new VariableFields(variables, (program) => this.#once(program))) }),
    };
  }

  static async of(input: EvaluationInput, modules: EvaluationModules): Promise<AdmissionEvaluation> {
    const { objects, definition } = input;
    const [object, oldObject] = [await objects.object(definition), await objects.oldObject(definition)];
    return new AdmissionEvaluation(input, modules, objects.value(object), objects.value(oldObject));
  }

  /** The value of an expression; an error names it. */
  async evaluate(program: CelProgram): Promise<Evaluated> {
    if (performance.now() - this.#slice > sliceMs) {
      await giveWay(Number.POSITIVE_INFINITY);
      this.#slice = performance.now();
    }
    for (;;) {
      if (this.#left < 0) return { error: outOfBudget };
      try {
        return { value: this.#once(program) };
      } catch (error) {
        if (error instanceof PendingDecision) {
          this.#decisions.set(error.key, await this.#ask(error.query));
          continue;
        }
        if (!(error instanceof CelError || error instanceof CelCostError)) throw error;
        return { error: `expression '${program.source}' resulted in error: ${error.message}` };
      }
    }
  }

  /**
   * True when all conditions hold, false as soon as one does not. The texts of errors, when there was one and no
   * condition that excludes the request.
   */
  async conditions(conditions: readonly NamedExpression[]): Promise<boolean | readonly string[]> {
    const errors: string[] = [];
    for (const { expression } of conditions) {
      const outcome =
        expression.program === undefined ? { error: expression.problem } : await this.evaluate(expression.program);
      if (outcome.error !== undefined) errors.push(outcome.error);
      else if (outcome.value !== true) return false;
    }
    return errors.length === 0 ? true : errors;
  }

  #once(program: CelProgram): CelValue {
    const { cost, value, error } = program.evaluate(this.#values, Math.min(perCallLimit, Math.max(this.#left, 0)));
    this.#left -= cost;
    if (error !== undefined) throw error;
    return value;
  }

  #check(query: AuthorizationQuery): AuthorizationDecision {
    const key = JSON.stringify(query, Object.keys(query).toSorted());
    const known = this.#decisions.get(key);
    if (known === undefined) throw new PendingDecision(query, key);
    return known;
  }

  async #ask(query: AuthorizationQuery): Promise<AuthorizationDecision> {
    const { cluster, user } = this.#input.attributes;
    const { serviceAccount, path } = query;
    const asked = serviceAccount === undefined ? user : serviceAccountUser(serviceAccount, cluster);
    const { decision, reason, error } = await this.#authorizer.authorize({
      user: asked,
      cluster,
      verb: query.verb,
      isResourceRequest: path === undefined,
      group: query.group ?? '',
      version: '*',
      namespace: query.namespace ?? '',
      resource: query.resource ?? '',
      subresource: query.subresource ?? '',
      name: query.name ?? '',
      path: path ?? '',
      fieldSelector: query.fieldSelector,
      labelSelector: query.labelSelector,
    });
    return { allowed: decision === 'allow', reason, ...(error === undefined ? {} : { error: error.message }) };
  }
}

function serviceAccountUser(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  cluster: string,
): UserInfo {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid: '',
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    extra: { [clusterNameExtra]: [cluster] },
  };
}

/** The variables of a policy, each evaluated when it is first used. */
class VariableFields implements CelFields {
  readonly type: CelType;
  readonly #expressions: ReadonlyMap<string, NamedExpression>;
  readonly #evaluate: (program: CelProgram) => CelValue;
  readonly #outcomes = new Map<string, { readonly value?: CelValue; readonly error?: CelError }>();
  readonly #under = new Set<string>();

  constructor(variables: readonly NamedExpression[], evaluate: (program: CelProgram) => CelValue) {
    this.#expressions = new Map(variables.map((variable) => [variable.name, variable]));
    this.#evaluate = evaluate;
    this.type = celTypes.structType(
      'kubernetes.variables',
      new Map(variables.map(({ name, expression }) => [name, expression.program?.type ?? celTypes.dynType])),
    );
  }

  get size(): number {
    return this.#expressions.size;
  }

  get(name: string): CelValue | undefined {
    const known = this.#outcomes.get(name) ?? this.#find(name);
    if (known?.error !== undefined) throw known.error;
    return known?.value;
  }

  equals(other: CelFields): boolean {
    return other === this;
  }

  #find(name: string): { readonly value?: CelValue; readonly error?: CelError } | undefined {
    const expression = this.#expressions.get(name)?.expression;
    if (expression === undefined) return undefined;
    let outcome: { readonly value?: CelValue; readonly error?: CelError };
    // A name that stands twice means the later one, which may use the earlier: there it has no value.
    if (this.#under.has(name)) return undefined;
    this.#under.add(name);
    try {
      outcome =
        expression.program === undefined
          ? { error: failed(name, expression.problem) }
          : { value: this.#evaluate(expression.program) };
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      outcome = { error: failed(name, error.message, error) };
    } finally {
      this.#under.delete(name);
    }
    this.#outcomes.set(name, outcome);
    return outcome;
  }
}

const failed = (name: string, why: string, cause?: unknown): CelError =>
  new CelError(`composited variable "${name}" fails to evaluate: ${why}`, { cause });
