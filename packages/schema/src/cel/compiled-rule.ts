import { getOwn, type JsonObject } from '@multiplane/apimachinery';
import { resolveFieldPath } from '../definition/field-path.ts';
import { stringOf } from '../definition/schema-document.ts';
import { estimateCost } from './cost-estimate.ts';
import { CelIssues } from './issues.ts';
import { kubernetesEnvironment } from './kubernetes-environment.ts';
import { compileExpression, type CelProgram } from './program.ts';
import type { SchemaType } from './schema-type.ts';
import { optionalType, type CelKind } from './types.ts';
import type { CelEnvironment } from './environment.ts';

/** A rule of `x-kubernetes-validations`, as its author wrote it. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}

export function ruleOf(source: JsonObject): Rule {
  const reason = getOwn(source, 'reason');
  const optional = getOwn(source, 'optionalOldSelf');
  return {
    rule: stringOf(source, 'rule'),
    message: stringOf(source, 'message'),
    messageExpression: stringOf(source, 'messageExpression'),
    reason: typeof reason === 'string' ? reason : undefined,
    fieldPath: stringOf(source, 'fieldPath'),
    optionalOldSelf: typeof optional === 'boolean' ? optional : undefined,
  };
}

/** A rule ready to be evaluated, or why it is not. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly program?: CelProgram;
  readonly error?: string;
  readonly usesOldSelf: boolean;
  /** The most that one evaluation may cost. */
  readonly cost: number;
  readonly message?: CelProgram;
  readonly messageError?: string;
  readonly messageCost: number;
  /** Where failures are reported, seen from the place of the rule: `a.b`. Empty: at that place. */
  readonly field: string;
}

/** The environments of the rules at one place. */
export class RuleEnvironment {
  readonly #type: SchemaType;
  #plain: CelEnvironment | undefined;
  #optional: CelEnvironment | undefined;
  constructor(type: SchemaType) {
    this.#type = type;
  }
  of(rule: Rule): CelEnvironment {
    const { type } = this.#type;
    if (rule.optionalOldSelf === true) {
      return (this.#optional ??= kubernetesEnvironment({ self: type, oldSelf: optionalType(type) }));
    }
    return (this.#plain ??= kubernetesEnvironment({ self: type, oldSelf: type }));
  }
}

/** Compiles a rule (Kubernetes `compileRule`). `schema` is that of its place, for the path of its field. */
export function compileRule(
  rule: Rule,
  type: SchemaType,
  schema: JsonObject,
  environments: RuleEnvironment,
): CompiledRule {
  const base = { rule, usesOldSelf: false, cost: 0, messageCost: 0, field: '' };
  if (rule.rule.trim() === '') return base;
  const environment = environments.of(rule);
  const main = compileTo('bool', rule.rule, environment, type);
  if (main.program === undefined) {
    const error =
      main.issues === undefined
        ? 'cel expression must evaluate to a bool'
        : main.issues.replace(/^instantiation/, 'program instantiation');
    return { ...base, error };
  }
  const compiled = { ...base, program: main.program, cost: main.cost, usesOldSelf: main.program.uses('oldSelf') };
  const field = fieldOf(rule.fieldPath, schema);
  if (rule.messageExpression === '') return { ...compiled, field };
  const message = compileTo('string', rule.messageExpression, environment, type);
  if (message.program !== undefined) return { ...compiled, field, message: message.program, messageCost: message.cost };
  const messageError =
    message.issues === undefined
      ? 'messageExpression must evaluate to a string'
      : `messageExpression ${message.issues}`;
  return { ...compiled, messageError };
}

interface Compilation {
  readonly program?: CelProgram;
  readonly cost: number;
  /** The step that failed, and why. Absent without a program: the type is not the one that is wanted. */
  readonly issues?: string;
}
function compileTo(kind: CelKind, source: string, environment: CelEnvironment, type: SchemaType): Compilation {
  try {
    const program = compileExpression(source, environment);
    if (program.type?.kind !== kind) return { cost: 0 };
    if (program.problem !== undefined) return { cost: 0, issues: `instantiation failed: ${program.problem}` };
    return { program, cost: estimateCost(program.expression, (path) => sizeAt(type, path)).max };
  } catch (error) {
    if (error instanceof CelIssues) return { cost: 0, issues: `compilation failed: ${error.message}` };
    throw error;
  }
}

/** The largest size of the value at a path such as `self.a.@items`. */
export function sizeAt(root: SchemaType, path: readonly string[]): number | undefined {
  let place: SchemaType | undefined = root;
  let isKey = false;
  for (const name of path.slice(1)) {
    if (isKey || place === undefined) return undefined;
    if (name === '@items' || name === '@values') place = place.item;
    else if (name === '@keys') {
      if (place.type.kind !== 'map') return undefined;
      isKey = true;
    } else place = place.fields?.get(name)?.type;
  }
  return isKey ? keySize : place?.maxElements;
}
/** Kubernetes has no size of keys and charges nothing for them. */
const keySize = 0;

function fieldOf(path: string, schema: JsonObject): string {
  if (path === '') return '';
  const resolved = resolveFieldPath(path, schema, { brackets: true });
  return typeof resolved === 'string' ? '' : resolved.path.replace(/^\./, '');
}
