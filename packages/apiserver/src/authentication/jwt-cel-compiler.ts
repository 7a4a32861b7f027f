import type { Json, JsonObject } from '@multiplane/apimachinery';
import {
  JwtExpressionError,
  type JwtBudget,
  type JwtExpression,
  type JwtExpressionCompiler,
  type JwtVariables,
} from '@multiplane/generic-server';
import {
  CelIssues,
  celTypes,
  compileExpression,
  isList,
  kubernetesEnvironment,
  plainValue,
  schemaType,
  typeText,
  valueOf,
  type CelEnvironment,
  type CelProgram,
  type CelType,
  type CelValue,
  type SchemaType,
} from '@multiplane/schema';
import { readsClaim } from './reads-claim.ts';

const text = { type: 'string' } as const;
const userSchema: JsonObject = {
  type: 'object',
  properties: {
    username: text,
    uid: text,
    groups: { type: 'array', items: text },
    extra: { type: 'object', additionalProperties: { type: 'array', items: text } },
  },
};
/** Characters of one expression; longer ones are rejected before they are parsed. */
const maxExpressionLength = 64 * 1024;

/**
 * Compiles expressions of JWT authenticators (`AuthenticationConfiguration`, `WorkspaceAuthenticationConfiguration`) in
 * the CEL environment of Kubernetes, with the variable `claims` or `user`.
 */
export class JwtCelCompiler implements JwtExpressionCompiler {
  readonly #userType = schemaType(userSchema, false, 'kubernetes.UserInfo') as SchemaType;
  readonly #claimsEnvironment = kubernetesEnvironment({
    claims: celTypes.mapType(celTypes.stringType, celTypes.dynType),
  });
  readonly #userEnvironment = kubernetesEnvironment({ user: this.#userType.type });

  claimMapping(source: string): JwtExpression {
    return compile(source, this.#claimsEnvironment);
  }

  claimRule(source: string): JwtExpression {
    return compile(source, this.#claimsEnvironment, celTypes.boolType);
  }

  userRule(source: string): JwtExpression {
    return compile(source, this.#userEnvironment, celTypes.boolType);
  }

  claimVariables(claims: Json, budget: JwtBudget): JwtVariables {
    return { values: { claims: plainValue(claims) }, budget };
  }

  userVariables(user: JsonObject, budget: JwtBudget): JwtVariables {
    return { values: { user: valueOf(user, this.#userType) }, budget };
  }
}

class CelExpression implements JwtExpression {
  readonly #program: CelProgram;

  constructor(program: CelProgram) {
    this.#program = program;
  }

  get source(): string {
    return this.#program.source;
  }

  readsClaim(name: string): boolean {
    return readsClaim(this.#program.expression, name);
  }

  evaluateString(variables: JwtVariables, claim: string): string {
    const value = this.#evaluate(variables);
    if (typeof value !== 'string') throw new Error(`${claim} claim expression must return a string`);
    return value;
  }

  evaluateStrings(variables: JwtVariables): readonly string[] {
    const value = this.#evaluate(variables);
    if (value === null) return [];
    const list = isList(value) ? value : [value];
    return list.flatMap((item) => {
      if (typeof item !== 'string') throw new Error('expression must return a string or a list of strings');
      return item === '' ? [] : [item];
    });
  }

  evaluateBoolean(variables: JwtVariables): boolean {
    return this.#evaluate(variables) === true;
  }

  #evaluate({ values, budget }: JwtVariables): CelValue {
    const outcome = this.#program.evaluate(values as Readonly<Record<string, CelValue>>, budget.remaining);
    budget.remaining -= outcome.cost;
    if (outcome.error !== undefined) throw outcome.error;
    return outcome.value;
  }
}

function compile(source: string, environment: CelEnvironment, resultType?: CelType): JwtExpression {
  if (source.length > maxExpressionLength)
    throw new JwtExpressionError(`compilation failed: the expression is longer than ${maxExpressionLength} characters`);
  let program: CelProgram;
  try {
    program = compileExpression(source, environment);
  } catch (error) {
    if (!(error instanceof CelIssues)) throw error;
    throw new JwtExpressionError(`compilation failed: ${error.message}`, { cause: error });
  }
  if (resultType !== undefined && (program.type === undefined || !celTypes.sameType(program.type, resultType)))
    throw new JwtExpressionError(`must evaluate to ${typeText(resultType)}`);
  return new CelExpression(program);
}
