import { encodeJson, parseJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import { AdmissionExpression, compileVariables, policyEnvironment, type NamedExpression } from '@multiplane/apis';
import {
  CelError,
  CelObject,
  checkObjectTypeName,
  jsonOfValue,
  jsonPatchOfValue,
  objectType,
  plainValue,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelValue,
} from '@multiplane/schema';
import { ExpressionEvaluator } from '../admission/expression-evaluator.ts';

/** An admission expression with its variables. Objects are sent as JSON, which is lossless. */
export interface ExpressionJob {
  readonly kind: 'expression';
  readonly source: string;
  readonly names: { readonly params: boolean; readonly patches: boolean };
  readonly variables: readonly { readonly name: string; readonly source: string }[];
  readonly object: string | undefined;
  readonly oldObject: string | undefined;
  readonly params: string | undefined;
  readonly request: string;
  readonly namespace: string | undefined;
  readonly requestResource: Omit<AuthorizationQuery, 'verb'>;
  /** The remaining CEL cost budget. */
  readonly remainingBudget: number;
  /** Authorization decisions that are known already, by check. */
  readonly decisions: readonly (readonly [string, AuthorizationDecision])[];
}

export type ExpressionJobResult = { readonly remainingBudget: number } & (
  | { readonly value: string }
  | { readonly error: string }
  | { readonly pending: AuthorizationQuery }
);

interface Compiled {
  readonly expression: AdmissionExpression;
  readonly variables: readonly NamedExpression[];
}

const maxCompiled = 200;

/** Evaluates expressions in the worker thread, with a cache of compiled ones. */
export class ExpressionJobs {
  readonly #compiled = new Map<string, Compiled>();

  evaluate(job: ExpressionJob): ExpressionJobResult {
    const { expression, variables } = this.#compile(job);
    const { program } = expression;
    if (program === undefined) return { error: expression.problem ?? '', remainingBudget: job.remainingBudget };
    const evaluator = new ExpressionEvaluator(
      {
        object: plainValue(documentOf(job.object)),
        oldObject: plainValue(documentOf(job.oldObject)),
        params: plainValue(documentOf(job.params)),
        request: parseJson(job.request) as JsonObject,
        namespace: job.namespace === undefined ? undefined : (parseJson(job.namespace) as JsonObject),
        requestResource: job.requestResource,
        variables,
      },
      job.remainingBudget,
    );
    for (const [key, decision] of job.decisions) evaluator.decisions.set(key, decision);
    const outcome = evaluator.evaluate(program);
    const { remainingBudget } = evaluator;
    if ('value' in outcome) return { ...encodeResult(outcome.value), remainingBudget };
    if ('pending' in outcome) return { pending: outcome.pending, remainingBudget };
    return { error: 'error' in outcome ? outcome.error : 'evaluation was aborted', remainingBudget };
  }

  #compile({ source, names, variables }: ExpressionJob): Compiled {
    const key = JSON.stringify([source, names, variables]);
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      const own = compileVariables(variables, names);
      const environment = policyEnvironment(own, { ...names, authorizer: true });
      compiled = { expression: new AdmissionExpression(source, environment, undefined), variables: own };
      if (this.#compiled.size >= maxCompiled) this.#compiled.delete(this.#compiled.keys().next().value as string);
    } else this.#compiled.delete(key);
    this.#compiled.set(key, compiled);
    return compiled;
  }
}

const documentOf = (text: string | undefined): Json => (text === undefined ? null : parseJson(text));

/** Type names are not sent, so they are checked before encoding. */
function encodeResult(value: CelValue): { readonly value: string } | { readonly error: string } {
  const isObject = value instanceof CelObject && value.fields.type.name === objectType.name;
  try {
    const json = isObject
      ? jsonOfValue(value, { onStruct: checkObjectTypeName, as: 'configuration' })
      : jsonPatchOfValue(value);
    return { value: encodeJson(json) };
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return { error: isObject ? `type mismatch: ${error.message}` : error.message };
  }
}
