import { checkExpression } from './checker.ts';
import { CelCostError, CelError } from './cel-error.ts';
import type { Expr } from './ast.ts';
import { Compiler } from './compiler.ts';
import { Frame, type Step } from './frame.ts';
import type { CelEnvironment } from './environment.ts';
import { parseExpression, type ParserOptions } from './parser.ts';
import type { WorkBudget } from '../work-budget.ts';
import type { CelType } from './types.ts';
import type { CelValue } from './values.ts';

/** Cost units that one evaluation may use. */
export const perCallLimit = 1_000_000;

/** How an evaluation ended: with a value, or with an error. `answers` is what of the cost no work was done for. */
export type CelOutcome =
  | { readonly cost: number; readonly answers: number; readonly value: CelValue; readonly error?: undefined }
  | {
      readonly cost: number;
      readonly answers: number;
      readonly value?: undefined;
      readonly error: CelError | CelCostError;
    };

/** A compiled expression. Holds no state of an evaluation; shared freely. */
export class CelProgram {
  readonly source: string;
  /** The type of the result; undefined when the expression was not checked. */
  readonly type: CelType | undefined;
  readonly expression: Expr;
  /** Why the expression cannot be evaluated although it compiles: a constant that cannot be converted, for example. */
  readonly problem: string | undefined;
  readonly #step: Step;
  readonly #slots: number;
  readonly #globals: ReadonlyMap<string, number>;

  constructor(source: string, expression: Expr, environment: CelEnvironment) {
    const compiler = new Compiler(environment);
    this.source = source;
    this.type = expression.type;
    this.expression = expression;
    this.#step = compiler.compile(expression);
    this.problem = compiler.problem;
    this.#slots = compiler.slotCount;
    this.#globals = compiler.globals;
  }

  uses(variable: string): boolean {
    return this.#globals.has(variable);
  }

  /**
   * Throws OutOfPatience when it would take more cost units than `patience`, or more work than `budget` allows here. Without
   * a budget, searches by regular expressions may take one time slice.
   */
  evaluate(
    variables: Readonly<Record<string, CelValue | undefined>>,
    limit: number = perCallLimit,
    patience?: number,
    budget?: WorkBudget,
  ): CelOutcome {
    const slots = Array.from<CelValue | undefined>({ length: this.#slots });
    for (const [name, slot] of this.#globals) {
      if (Object.hasOwn(variables, name)) slots[slot] = variables[name];
    }
    const frame = new Frame(slots, limit, patience, budget);
    try {
      const value = this.#step(frame);
      return { cost: frame.cost, answers: frame.answers, value };
    } catch (error) {
      if (error instanceof CelError || error instanceof CelCostError)
        return { cost: frame.cost, answers: frame.answers, error };
      throw error;
    }
  }
}

export interface CompileExpressionOptions extends ParserOptions {
  /** Without types: names and overloads are found when the expression is evaluated. */
  readonly unchecked?: boolean;
}

/** Parses, checks and compiles an expression. Throws CelIssues. */
export function compileExpression(
  source: string,
  environment: CelEnvironment,
  options: CompileExpressionOptions = {},
): CelProgram {
  const expression = parseExpression(source, options);
  if (options.unchecked !== true) checkExpression(source, expression, environment);
  return new CelProgram(source, expression, environment);
}
