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
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelFields,
  type CelProgram,
  type CelType,
  type CelValue,
} from '@multiplane/schema';

/** What the expressions of one webhook or policy work on. */
export interface ExpressionInput {
  readonly object: CelValue;
  readonly oldObject: CelValue;
  readonly params: CelValue;
  /** The AdmissionRequest without its objects. */
  readonly request: JsonObject;
  readonly namespace: JsonObject | undefined;
  /** What `authorizer.requestResource` asks about. */
  readonly requestResource: Omit<AuthorizationQuery, 'verb'>;
  readonly variables: readonly NamedExpression[];
}

/** How an evaluation ended. What it has used of the budget counts however it ended. */
export type RunOutcome =
  | { readonly value: CelValue }
  | { readonly error: string }
  /** Somebody must be asked first. */
  | { readonly pending: AuthorizationQuery }
  /** It would take longer than was allowed here. */
  | { readonly impatient: true };

/** Thrown out of an evaluation that needs an answer which is not there yet. */
class PendingDecision extends Error {
  readonly query: AuthorizationQuery;
  constructor(query: AuthorizationQuery) {
    super('the decision has to be asked for');
    this.query = query;
  }
}

/**
 * The expressions of one webhook or policy for one request, within one budget (K6.6, K6.8). Variables are evaluated when an
 * expression first uses them, and once. Evaluation does not wait: a question that has no answer yet breaks it off.
 */
export class ExpressionRun {
  /** Of the budget. */
  left: number;
  readonly decisions = new Map<string, AuthorizationDecision>();
  readonly #values: Readonly<Record<string, CelValue>>;
  #patience = Number.POSITIVE_INFINITY;

  constructor(input: ExpressionInput, budget: number) {
    this.left = budget;
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
        : { variables: new CelObject(new VariableFields(variables, (program) => this.#once(program))) }),
    };
  }

  decide(query: AuthorizationQuery, decision: AuthorizationDecision): void {
    this.decisions.set(keyOf(query), decision);
  }

  /** `patience`: cost units of work that may be done here. */
  evaluate(program: CelProgram, patience = Number.POSITIVE_INFINITY): RunOutcome {
    this.#patience = patience;
    const before = this.left;
    try {
      return { value: this.#once(program) };
    } catch (error) {
      if (error instanceof PendingDecision) return { pending: error.query };
      if (error instanceof OutOfPatience) {
        // It is done anew, and paid then.
        this.left = before;
        return { impatient: true };
      }
      if (!(error instanceof CelError || error instanceof CelCostError)) throw error;
      return { error: `expression '${program.source}' resulted in error: ${error.message}` };
    }
  }

  #once(program: CelProgram): CelValue {
    const limit = Math.min(perCallLimit, Math.max(this.left, 0));
    const { cost, answers, value, error } = program.evaluate(this.#values, limit, Math.max(this.#patience, 0));
    this.left -= cost;
    this.#patience -= cost - answers;
    // Of a variable: whoever uses it may go on only as long as there is any.
    if (this.#patience < 0) throw new OutOfPatience();
    if (error !== undefined) throw error;
    return value;
  }

  #check(query: AuthorizationQuery): AuthorizationDecision {
    const known = this.decisions.get(keyOf(query));
    if (known === undefined) throw new PendingDecision(query);
    return known;
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

/** The variables of a policy, each evaluated when it is first used. */
class VariableFields implements CelFields {
  readonly type: CelType = celTypes.structType('kubernetes.variables', new Map());
  readonly #expressions: ReadonlyMap<string, NamedExpression>;
  readonly #evaluate: (program: CelProgram) => CelValue;
  readonly #outcomes = new Map<string, Variable>();
  readonly #under = new Set<string>();

  constructor(variables: readonly NamedExpression[], evaluate: (program: CelProgram) => CelValue) {
    this.#expressions = new Map(variables.map((variable) => [variable.name, variable]));
    this.#evaluate = evaluate;
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

  #find(name: string): Variable | undefined {
    const expression = this.#expressions.get(name)?.expression;
    // A name that stands twice means the later one; where that uses the earlier it finds nothing.
    if (expression === undefined || this.#under.has(name)) return undefined;
    this.#under.add(name);
    let outcome: Variable;
    try {
      const { program } = expression;
      outcome =
        program === undefined ? { error: failed(name, expression.problem ?? '') } : { value: this.#evaluate(program) };
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
