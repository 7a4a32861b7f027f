import {
  asJson,
  encodeJson,
  parseJson,
  type DeepReadonly,
  type KubeObject,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { AdmissionExpression, NamedExpression, ResourceDefinition } from '@multiplane/apis';
import { slicesOfTurns } from '@multiplane/component-base';
import {
  plainValue,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelProgram,
  type CelValue,
} from '@multiplane/schema';
import { clusterNameExtra } from '../authentication/service-account-tokens.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { ExpressionAnswer, ExpressionJob } from '../threads/expression-job.ts';
import { admissionRequest, namespaceView } from './admission-request.ts';
import { ExpressionRun, type ExpressionInput, type RunOutcome } from './expression-run.ts';
import { namespaceOf } from './matching/request-matcher.ts';
import type { AdmissionAttributes } from './plugin.ts';
import type { RequestObjects } from './request-objects.ts';

/** Cost units that the expressions of one policy and binding may use together (K6.8). */
export const policyBudget = 10_000_000;
/** The same for the match conditions of one webhook. */
export const conditionsBudget = 2_500_000;
/** What Kubernetes says when a budget is used up. */
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';
/** Cost units of one expression that are used up here: some ten milliseconds. */
const patience = 50_000;

/** Evaluates elsewhere what would hold the event loop. Clusters take turns. */
export interface SlowExpressions {
  expression(cluster: string, job: ExpressionJob): Promise<ExpressionAnswer>;
}

export interface EvaluationModules {
  /** Answers `authorizer` of expressions. */
  readonly authorizer: Authorizer;
  /** Absent: everything is evaluated at once. */
  readonly slowly?: SlowExpressions | undefined;
}

export interface EvaluationInput {
  readonly attributes: AdmissionAttributes;
  readonly objects: RequestObjects;
  /** The version in which expressions see the objects. */
  readonly definition: ResourceDefinition;
  readonly namespace: DeepReadonly<KubeObject> | undefined;
  readonly budget: number;
  /** Undefined: none. */
  readonly param?: DeepReadonly<KubeObject> | undefined;
  readonly variables?: readonly NamedExpression[] | undefined;
  /** The policy has a kind of parameters; configurations and patches may be made. */
  readonly names?: { readonly params: boolean; readonly patches: boolean } | undefined;
}

/** What an expression came to: a value, or an error in Kubernetes' words. */
export type Evaluated =
  | { readonly value: CelValue; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

/**
 * Evaluates the expressions of one webhook or policy for one request. Whatever an expression wants to know of the
 * authorizer is asked when it breaks off for that, and it is done again; an expression that takes long is done elsewhere.
 */
export class AdmissionEvaluation {
  readonly #input: EvaluationInput;
  readonly #modules: EvaluationModules;
  readonly #run: ExpressionRun;
  readonly #job: () => Omit<ExpressionJob, 'source' | 'left' | 'decisions'>;
  readonly #slices = slicesOfTurns();

  private constructor(
    input: EvaluationInput,
    modules: EvaluationModules,
    object: DeepReadonly<KubeObject> | undefined,
    oldObject: DeepReadonly<KubeObject> | undefined,
  ) {
    this.#input = input;
    this.#modules = modules;
    const { attributes, definition, namespace, param, objects, budget, variables = [] } = input;
    const shared = {
      request: admissionRequest(attributes, definition),
      namespace: namespace === undefined ? undefined : namespaceView(namespace),
      requestResource: {
        group: attributes.definition.group,
        resource: attributes.definition.resource,
        subresource: attributes.subresource,
        namespace: namespaceOf(attributes),
        name: attributes.name,
      },
    };
    const values: ExpressionInput = {
      ...shared,
      object: objects.value(object),
      oldObject: objects.value(oldObject),
      params: objects.value(param),
      variables,
    };
    this.#run = new ExpressionRun(values, budget);
    this.#job = () => ({
      ...shared,
      kind: 'expression',
      request: encodeJson(shared.request),
      namespace: shared.namespace === undefined ? undefined : encodeJson(shared.namespace),
      object: textOf(object),
      oldObject: textOf(oldObject),
      params: textOf(param),
      variables: variables.map(({ name, expression }) => ({ name, source: expression.source })),
      names: { params: false, patches: false, ...input.names },
    });
  }

  static async of(input: EvaluationInput, modules: EvaluationModules): Promise<AdmissionEvaluation> {
    const { objects, definition } = input;
    const [object, oldObject] = [await objects.object(definition), await objects.oldObject(definition)];
    return new AdmissionEvaluation(input, modules, object, oldObject);
  }

  /** The value of an expression; an error names it. */
  async evaluate(expression: AdmissionExpression): Promise<Evaluated> {
    if (this.#slices.over) await this.#slices.next();
    const { program, problem = '' } = expression;
    if (program === undefined) return { error: problem };
    const { slowly } = this.#modules;
    let elsewhere = false;
    for (;;) {
      if (this.#run.left < 0) return { error: outOfBudget };
      const outcome: RunOutcome =
        elsewhere && slowly !== undefined
          ? await this.#elsewhere(slowly, program)
          : this.#run.evaluate(program, slowly === undefined ? undefined : patience);
      if ('pending' in outcome) this.#run.decide(outcome.pending, await this.#ask(outcome.pending));
      else if ('impatient' in outcome) elsewhere = true;
      else return outcome;
    }
  }

  /**
   * True when all conditions hold, false as soon as one does not. The texts of errors, when there was one and no
   * condition that excludes the request.
   */
  async conditions(conditions: readonly NamedExpression[]): Promise<boolean | readonly string[]> {
    const errors: string[] = [];
    for (const { expression } of conditions) {
      const outcome = await this.evaluate(expression);
      if (outcome.error !== undefined) errors.push(outcome.error);
      else if (outcome.value !== true) return false;
    }
    return errors.length === 0 ? true : errors;
  }

  async #elsewhere(slowly: SlowExpressions, { source }: CelProgram): Promise<RunOutcome> {
    const answer = await slowly.expression(this.#input.attributes.cluster, {
      ...this.#job(),
      source,
      left: this.#run.left,
      decisions: [...this.#run.decisions],
    });
    this.#run.left = answer.left;
    if ('value' in answer) return { value: plainValue(parseJson(answer.value)) };
    return 'pending' in answer ? { pending: answer.pending } : { error: answer.error };
  }

  async #ask(query: AuthorizationQuery): Promise<AuthorizationDecision> {
    const { cluster, user } = this.#input.attributes;
    const { serviceAccount, path } = query;
    const { decision, reason, error } = await this.#modules.authorizer.authorize({
      user: serviceAccount === undefined ? user : serviceAccountUser(serviceAccount, cluster),
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

const textOf = (object: DeepReadonly<KubeObject> | undefined): string | undefined =>
  object === undefined ? undefined : encodeJson(asJson(object as KubeObject));

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
