import type { Json, JsonObject } from '@multiplane/apimachinery';
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

/** An expression that cannot be used; the message is Kubernetes'. */
export class ExpressionProblem extends Error {
  override readonly name = 'ExpressionProblem';
}

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
/** Longest text of one expression; what is longer is not even parsed. */
const maxExpressionLength = 64 * 1024;

/** Compiles and evaluates the expressions of JWT authenticators: over `claims` and over `user` (K7.2). */
export class JwtExpressions {
  readonly #userType = schemaType(userSchema, false, 'kubernetes.UserInfo') as SchemaType;
  readonly #claims = kubernetesEnvironment({
    claims: celTypes.mapType(celTypes.stringType, celTypes.dynType),
  });
  readonly #user = kubernetesEnvironment({ user: this.#userType.type });

  /** A mapping: what it gives is known only when it is evaluated. Throws {@link ExpressionProblem}. */
  mapping(source: string): CelProgram {
    return compile(source, this.#claims);
  }

  /** A rule over claims. Throws {@link ExpressionProblem}. */
  claimRule(source: string): CelProgram {
    return compile(source, this.#claims, celTypes.boolType);
  }

  /** A rule over the user that the claims made. Throws {@link ExpressionProblem}. */
  userRule(source: string): CelProgram {
    return compile(source, this.#user, celTypes.boolType);
  }

  /** The variable of rules over the user; empty parts are absent, as in a UserInfo on the wire. */
  userValue(user: JsonObject): CelValue {
    return valueOf(user, this.#userType);
  }
}

function compile(source: string, environment: CelEnvironment, wanted?: CelType): CelProgram {
  if (source.length > maxExpressionLength)
    throw new ExpressionProblem(`compilation failed: the expression is longer than ${maxExpressionLength} characters`);
  let program: CelProgram;
  try {
    program = compileExpression(source, environment);
  } catch (error) {
    if (!(error instanceof CelIssues)) throw error;
    throw new ExpressionProblem(`compilation failed: ${error.message}`, { cause: error });
  }
  if (wanted !== undefined && (program.type === undefined || !celTypes.sameType(program.type, wanted)))
    throw new ExpressionProblem(`must evaluate to ${typeText(wanted)}`);
  return program;
}

/** The variable of expressions over claims. */
export const claimsValue = (claims: Json): CelValue => plainValue(claims);

/** The value of an expression. Throws what went wrong, an exceeded cost included. */
export function evaluated(program: CelProgram, variables: Readonly<Record<string, CelValue>>): CelValue {
  const outcome = program.evaluate(variables);
  if (outcome.error !== undefined) throw outcome.error;
  return outcome.value;
}

/** The text an expression gave. Throws with `what` in the message for anything else. */
export function textOf(value: CelValue, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} claim expression must return a string`);
  return value;
}

/** The texts an expression gave: one, or a list; empty ones and null are nothing. */
export function textsOf(value: CelValue): readonly string[] {
  if (value === null) return [];
  const list = isList(value) ? value : [value];
  return list.flatMap((item) => {
    if (typeof item !== 'string') throw new Error('expression must return a string or a list of strings');
    return item === '' ? [] : [item];
  });
}
