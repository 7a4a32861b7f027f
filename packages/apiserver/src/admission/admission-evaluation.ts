import {
  asJson,
  encodeJson,
  encodeJsonIncrementally,
  parseJsonIncrementally,
  type DeepReadonly,
  type KubeObject,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { AdmissionExpression, CelCosts, NamedExpression, ResourceDefinition } from '@multiplane/apis';
import { runInTimeSlices, traced, timeSlices, type TimeSlices } from '@multiplane/component-base';
import { type Authorizer, clusterNameExtra } from '@multiplane/generic-server';
import {
  minInlineSteps,
  plainValue,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelProgram,
  type CelValue,
} from '@multiplane/schema';
import type { ExpressionJobResult, ExpressionJob } from '../threads/expression-job.ts';
import { admissionRequest, namespaceView } from './admission-request.ts';
import { ExpressionEvaluator, type ExpressionInput, type EvaluationOutcome } from './expression-evaluator.ts';
import { namespaceOf } from './matching/request-matcher.ts';
import type { Abortable } from '../time-slices.ts';
import type { AdmissionAttributes } from './plugin.ts';
import type { RequestObjects } from './request-objects.ts';

/** CEL cost budget of the expressions of one policy and binding together. */
export const policyBudget = 10_000_000;
/** CEL cost budget of the match conditions of one webhook. */
export const conditionsBudget = 2_500_000;
/** The message of Kubernetes when a budget is exceeded. */
const budgetExceeded = 'validation failed due to running out of cost budget, no further validation rules will be run';
/** Cost that one expression may use on the event loop, some ten milliseconds; beyond it the expression is offloaded. */
const maxInlineCost = 50_000;

/** Evaluates expensive expressions in a worker thread, round-robin by cluster. */
export interface ExpressionOffloader {
  expression(cluster: string, job: ExpressionJob, request: Abortable): Promise<ExpressionJobResult>;
}

export interface EvaluationModules {
  /** Answers the `authorizer` variable of expressions. */
  readonly authorizer: Authorizer;
  /** Absent: all expressions are evaluated on the event loop. */
  readonly offloader?: ExpressionOffloader | undefined;
  /** Absent: the cost of expressions is only limited per request. */
  readonly costs?: CelCosts | undefined;
}

export interface EvaluationInput {
  readonly attributes: AdmissionAttributes;
  readonly objects: RequestObjects;
  /** The version in which expressions see the objects. */
  readonly definition: ResourceDefinition;
  readonly namespace: DeepReadonly<KubeObject> | undefined;
  readonly budget: number;
  /** The parameter object; undefined: none. */
  readonly param?: DeepReadonly<KubeObject> | undefined;
  readonly variables?: readonly NamedExpression[] | undefined;
  /** Whether the `params` variable and the types of patches are declared. */
  readonly names?: { readonly params: boolean; readonly patches: boolean } | undefined;
}

/** The value of an expression, or an error with the message of Kubernetes. */
export type EvaluationResult =
  | { readonly value: CelValue; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

/**
 * Evaluates the CEL expressions of one webhook or policy for one request. Evaluation is synchronous: if an expression
 * needs a decision of the authorizer, it aborts, the decision is fetched, and it is evaluated again. An expensive
 * expression is evaluated in a worker thread.
 */
export class AdmissionEvaluation {
  readonly #input: EvaluationInput;
  readonly #modules: EvaluationModules;
  readonly #evaluator: ExpressionEvaluator;
  readonly #job: () => Promise<Omit<ExpressionJob, 'source' | 'remainingBudget' | 'decisions'>>;
  readonly #slices: TimeSlices;

  private constructor(
    input: EvaluationInput,
    modules: EvaluationModules,
    subjects: {
      readonly object: DeepReadonly<KubeObject> | undefined;
      readonly oldObject: DeepReadonly<KubeObject> | undefined;
      readonly values: Pick<ExpressionInput, 'object' | 'oldObject' | 'params'>;
    },
  ) {
    this.#input = input;
    this.#slices = timeSlices(input.attributes.cluster);
    this.#modules = modules;
    const { attributes, definition, namespace, param, budget, variables = [] } = input;
    const { object, oldObject } = subjects;
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
    this.#evaluator = new ExpressionEvaluator({ ...shared, ...subjects.values, variables }, budget);
    const { cluster } = attributes;
    this.#job = async () => ({
      ...shared,
      kind: 'expression',
      request: encodeJson(shared.request),
      namespace: shared.namespace === undefined ? undefined : encodeJson(shared.namespace),
      object: await textOf(object, cluster),
      oldObject: await textOf(oldObject, cluster),
      params: await textOf(param, cluster),
      variables: variables.map(({ name, expression }) => ({ name, source: expression.source })),
      names: { params: false, patches: false, ...input.names },
    });
  }

  static async of(input: EvaluationInput, modules: EvaluationModules): Promise<AdmissionEvaluation> {
    const { objects, definition, param } = input;
    const [object, oldObject] = [await objects.object(definition), await objects.oldObject(definition)];
    const values = {
      object: await objects.value(object),
      oldObject: await objects.value(oldObject),
      params: await objects.value(param),
    };
    return new AdmissionEvaluation(input, modules, { object, oldObject, values });
  }

  /** Evaluates an expression; its cost is charged to the logical cluster of the request. */
  async evaluate(expression: AdmissionExpression): Promise<EvaluationResult> {
    const { costs } = this.#modules;
    if (costs === undefined) return await traced('CEL', () => this.#evaluate(expression));
    const { cluster, user } = this.#input.attributes;
    costs.check(cluster, user);
    const before = this.#evaluator.remainingBudget;
    try {
      return await traced('CEL', () => this.#evaluate(expression));
    } finally {
      costs.charge(cluster, before - this.#evaluator.remainingBudget);
    }
  }

  /** Others may have used up the slice in which the evaluation begins, so it has some steps of its own. */
  readonly #isOverdue = (steps: number): boolean => steps > minInlineSteps && this.#slices.isExceeded;

  async #evaluate(expression: AdmissionExpression): Promise<EvaluationResult> {
    if (this.#slices.isExceeded) await this.#slices.yield();
    const { program, problem = '' } = expression;
    if (program === undefined) return { error: problem };
    const { offloader } = this.#modules;
    let offloaded = false;
    for (;;) {
      if (this.#evaluator.remainingBudget < 0) return { error: budgetExceeded };
      const outcome: EvaluationOutcome =
        offloaded && offloader !== undefined
          ? await this.#offload(offloader, program)
          : this.#evaluator.evaluate(
              program,
              offloader === undefined ? {} : { inlineCost: maxInlineCost, isOverdue: this.#isOverdue },
            );
      if ('pending' in outcome) this.#evaluator.decide(outcome.pending, await this.#authorize(outcome.pending));
      else if ('isCostExceeded' in outcome) offloaded = true;
      else return outcome;
    }
  }

  /**
   * Evaluates match conditions: true if all hold, false as soon as one does not; the error messages if some fail and
   * none is false.
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

  async #offload(offloader: ExpressionOffloader, { source }: CelProgram): Promise<EvaluationOutcome> {
    const { attributes } = this.#input;
    const job: ExpressionJob = {
      ...(await this.#job()),
      source,
      remainingBudget: this.#evaluator.remainingBudget,
      decisions: [...this.#evaluator.decisions],
    };
    const result = await offloader.expression(attributes.cluster, job, attributes);
    this.#evaluator.remainingBudget = result.remainingBudget;
    if ('value' in result) {
      const parsed = await runInTimeSlices(parseJsonIncrementally(result.value, false), attributes.cluster);
      await attributes.work?.pause();
      return { value: plainValue(parsed.value) };
    }
    return 'pending' in result ? { pending: result.pending } : { error: result.error };
  }

  async #authorize(query: AuthorizationQuery): Promise<AuthorizationDecision> {
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

const textOf = async (object: DeepReadonly<KubeObject> | undefined, cluster: string): Promise<string | undefined> =>
  object === undefined ? undefined : runInTimeSlices(encodeJsonIncrementally(asJson(object as KubeObject)), cluster);

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
