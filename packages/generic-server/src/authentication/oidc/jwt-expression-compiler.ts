import type { Json, JsonObject } from '@multiplane/apimachinery';

/** An expression that does not compile; the message is the one of Kubernetes. */
export class JwtExpressionError extends Error {
  override readonly name = 'JwtExpressionError';
}

/**
 * Cost of CEL that all expressions for one token may use together, some ten milliseconds. Kubernetes limits each expression
 * to 1,000,000; here tenants configure issuers, and expressions run on the event loop before the user is known.
 */
export const maxTokenCost = 50_000;

/** What is left of {@link maxTokenCost}; expressions reduce it. */
export interface JwtBudget {
  remaining: number;
}

/** The variables of an expression, in the representation of the compiler that made them. */
export interface JwtVariables {
  readonly values: Readonly<Record<string, unknown>>;
  readonly budget: JwtBudget;
}

/** A compiled expression. Evaluation throws if it fails or exceeds the budget of its variables. */
export interface JwtExpression {
  readonly source: string;
  /** Whether the expression reads `claims.<name>` or `claims.?<name>`. */
  readsClaim(name: string): boolean;
  /** Throws for a result that is not a string; the message names `claim`. */
  evaluateString(variables: JwtVariables, claim: string): string;
  /** A string or a list of strings; empty strings and null are left out. Throws for any other result. */
  evaluateStrings(variables: JwtVariables): readonly string[];
  evaluateBoolean(variables: JwtVariables): boolean;
}

/**
 * Compiles the CEL expressions of JWT authenticators. apiserver implements it (`JwtCelCompiler`), so that servers which
 * accept no expressions do not load CEL.
 */
export interface JwtExpressionCompiler {
  /** A mapping of claims to a user attribute. Its result type is only known when it is evaluated. Throws {@link JwtExpressionError}. */
  claimMapping(source: string): JwtExpression;
  /** A boolean rule over claims. Throws {@link JwtExpressionError}. */
  claimRule(source: string): JwtExpression;
  /** A boolean rule over the mapped user. Throws {@link JwtExpressionError}. */
  userRule(source: string): JwtExpression;
  /** The variables of mappings and of rules over claims. */
  claimVariables(claims: Json, budget: JwtBudget): JwtVariables;
  /** The variables of rules over the user: a `UserInfo` in JSON, without empty fields. */
  userVariables(user: JsonObject, budget: JwtBudget): JwtVariables;
}

const unsupported = (): never => {
  throw new JwtExpressionError('compilation failed: this server does not support expressions');
};

/** Rejects every expression. For servers whose configuration cannot contain any. */
export const noJwtExpressions: JwtExpressionCompiler = {
  claimMapping: unsupported,
  claimRule: unsupported,
  userRule: unsupported,
  claimVariables: (_claims, budget) => ({ values: {}, budget }),
  userVariables: (_user, budget) => ({ values: {}, budget }),
};
