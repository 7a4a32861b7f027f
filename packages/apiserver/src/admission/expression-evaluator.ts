import type { JsonObject } from '@multiplane/apimachinery';
import { namespaceType, requestType, type NamedExpression } from '@multiplane/apis';
import {
  CelAuthorizerValue,
  CelCostError,
  CelError,
  CelObject,
  celTypes,
  OutOfPatience,
  perCallLimit,
  valueOf,
  WorkBudget,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelFields,
  type CelProgram,
  type CelType,
  type CelValue,
  type IsOverdue,
} from '@multiplane/schema';

/** The variables of the expressions of one webhook or policy. */
export interface ExpressionInput {
  readonly object: CelValue;
  readonly oldObject: CelValue;
  readonly params: CelValue;
  /** The AdmissionRequest without its objects. */
  readonly request: JsonObject;
  readonly namespace: JsonObject | undefined;
  /** The resource of `authorizer.requestResource`. */
  readonly requestResource: Omit<AuthorizationQuery, 'verb'>;
  readonly variables: readonly NamedExpression[];
}

/** The outcome of an evaluation. The budget is charged in every case except `isCostExceeded`. */
export type EvaluationOutcome =
  | { readonly value: CelValue }
  | { readonly error: string }
  /** An authorization decision is needed first. */
  | { readonly pending: AuthorizationQuery }
  /** The expression exceeded the cost limit of the event loop. */
  | { readonly isCostExceeded: true };

/** Of an evaluation on the event loop. */
export interface InlineLimits {
  /** The cost that may be used here. */
  readonly inlineCost?: number | undefined;
  /** Whether the time slice is used up. */
  readonly isOverdue?: IsOverdue | undefined;
}

/** Aborts an evaluation that needs a decision that was not fetched yet. */
class PendingDecision extends Error {
  readonly query: AuthorizationQuery;
  constructor(query: AuthorizationQuery) {
    super('an authorization decision is required');
    this.query = query;
  }
}

/**
 * Evaluates the expressions of one webhook or policy for one request within one cost budget. Variables are evaluated on
 * first use, and once. Evaluation is synchronous: a missing authorization decision aborts it.
 */
export class ExpressionEvaluator {
  /** The remaining CEL cost budget. */
  remainingBudget: number;
  readonly decisions = new Map<string, AuthorizationDecision>();
  readonly #values: Readonly<Record<string, CelValue>>;
  #remainingInlineCost = Number.POSITIVE_INFINITY;
  /** For searches by regular expressions; those of a worker thread are not interrupted. */
  #work = new WorkBudget();

  constructor(input: ExpressionInput, budget: number) {
    this.remainingBudget = budget;
    const { object, oldObject, params, request, namespace, requestResource, variables } = input;
    const authorizer = new CelAuthorizerValue({ check: (query) => this.#check(query) });
    this.#values = {
      object,
      oldObject,
      params,
      request: valueOf(request, requestType),
      namespaceObject: namespace === undefined ? null : valueOf(namespace, namespaceType),
      authorizer,
      'authorizer.requestResource': authorizer.with(requestResource, 'resource'),
      ...(variables.length === 0
        ? {}
        : { variables: new CelObject(new VariableFields(variables, (program) => this.#run(program))) }),
    };
  }

  decide(query: AuthorizationQuery, decision: AuthorizationDecision): void {
    this.decisions.set(keyOf(query), decision);
  }

  /** Aborts beyond the limits of the event loop, if there are any. */
  evaluate(
    program: CelProgram,
    { inlineCost = Number.POSITIVE_INFINITY, isOverdue }: InlineLimits = {},
  ): EvaluationOutcome {
    this.#remainingInlineCost = inlineCost;
    if (isOverdue !== undefined) this.#work = new WorkBudget({ isOverdue });
    const before = this.remainingBudget;
    try {
      return { value: this.#run(program) };
    } catch (error) {
      if (error instanceof PendingDecision) return { pending: error.query };
      if (error instanceof OutOfPatience) {
        // The evaluation is repeated in a worker and charged there.
        this.remainingBudget = before;
        return { isCostExceeded: true };
      }
      if (!(error instanceof CelError || error instanceof CelCostError)) throw error;
      return { error: `expression '${program.source}' resulted in error: ${error.message}` };
    }
  }

  #run(program: CelProgram): CelValue {
    const limit = Math.min(perCallLimit, Math.max(this.remainingBudget, 0));
    const { cost, answers, value, error } = program.evaluate(
      this.#values,
      limit,
      Math.max(this.#remainingInlineCost, 0),
      this.#work,
    );
    this.remainingBudget -= cost;
    this.#remainingInlineCost -= cost - answers;
    // A variable may have used up the limit of the expression that uses it.
    if (this.#remainingInlineCost < 0) throw new OutOfPatience();
    if (error !== undefined) throw error;
    return value;
  }

  #check(query: AuthorizationQuery): AuthorizationDecision {
    const cached = this.decisions.get(keyOf(query));
    if (cached === undefined) throw new PendingDecision(query);
    return cached;
  }
}

function keyOf(query: AuthorizationQuery): string {
  const { verb, serviceAccount, path, group, resource, subresource, namespace, name } = query;
  const { fieldSelector, labelSelector } = query;
  return JSON.stringify([
    verb,
    serviceAccount?.namespace,
    serviceAccount?.name,
    path,
    group,
    resource,
    subresource,
    namespace,
    name,
    fieldSelector,
    labelSelector,
  ]);
}

interface Variable {
  readonly value?: CelValue;
  readonly error?: CelError;
}

/** The variables of a policy, each evaluated on first use. */
class VariableFields implements CelFields {
  readonly type: CelType = celTypes.structType('kubernetes.variables', new Map());
  readonly isMap = false;
  readonly #expressions: ReadonlyMap<string, NamedExpression>;
  readonly #evaluate: (program: CelProgram) => CelValue;
  readonly #outcomes = new Map<string, Variable>();
  readonly #evaluating = new Set<string>();

  constructor(variables: readonly NamedExpression[], evaluate: (program: CelProgram) => CelValue) {
    this.#expressions = new Map(variables.map((variable) => [variable.name, variable]));
    this.#evaluate = evaluate;
  }

  get size(): number {
    return this.#expressions.size;
  }

  get(name: string): CelValue | undefined {
    const cached = this.#outcomes.get(name) ?? this.#find(name);
    if (cached?.error !== undefined) throw cached.error;
    return cached?.value;
  }

  keys(): readonly string[] {
    return [...this.#expressions.keys()];
  }

  equals(other: CelFields): boolean {
    return other === this;
  }

  #find(name: string): Variable | undefined {
    const expression = this.#expressions.get(name)?.expression;
    // Of duplicate names the last variable wins; a reference to itself is undefined.
    if (expression === undefined || this.#evaluating.has(name)) return undefined;
    this.#evaluating.add(name);
    let outcome: Variable;
    try {
      const { program } = expression;
      outcome =
        program === undefined ? { error: failed(name, expression.problem ?? '') } : { value: this.#evaluate(program) };
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      outcome = { error: failed(name, error.message, error) };
    } finally {
      this.#evaluating.delete(name);
    }
    this.#outcomes.set(name, outcome);
    return outcome;
  }
}

const failed = (name: string, why: string, cause?: unknown): CelError =>
  new CelError(`composited variable "${name}" fails to evaluate: ${why}`, { cause });
