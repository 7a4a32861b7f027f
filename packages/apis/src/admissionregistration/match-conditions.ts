import {
  fieldErrors,
  validateQualifiedName,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { textAt } from '../fields.ts';
import type { AdmissionExpression } from './admission-expressions.ts';
import type { NamedExpression } from './policy-expressions.ts';

const maxMatchConditions = 64;

/** `matchConditions` of webhooks and policies: named expressions, compiled as well. */
export function matchConditionErrors(
  conditions: readonly Json[],
  compiled: readonly NamedExpression[],
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  if (conditions.length > maxMatchConditions) {
    errors.push(fieldErrors.tooMany(path, conditions.length, maxMatchConditions));
  }
  for (const [index, condition] of conditions.entries()) {
    const where = path.index(index);
    const name = textAt(condition, 'name');
    if (textAt(condition, 'expression').trim() === '') errors.push(fieldErrors.required(where.child('expression')));
    else errors.push(...expressionErrors(compiled[index]?.expression, where.child('expression')));
    if (name === '') {
      errors.push(fieldErrors.required(where.child('name')));
      continue;
    }
    errors.push(
      ...validateQualifiedName(name).map((message) => fieldErrors.invalid(where.child('name'), name, message)),
    );
    if (seen.has(name)) errors.push(fieldErrors.duplicate(where.child('name'), name));
    seen.add(name);
  }
  return errors;
}

/** A field with a fixed set of values that is not filled in here: absent is an error of its own. */
export function choiceErrors(value: string, path: FieldPath, choices: readonly string[]): FieldError[] {
  if (value === '') return [fieldErrors.required(path)];
  return choices.includes(value) ? [] : [fieldErrors.notSupported(path, value, choices)];
}

/** Why an expression cannot be used, if so. */
export function expressionErrors(expression: AdmissionExpression | undefined, path: FieldPath): FieldError[] {
  if (expression?.problem === undefined) return [];
  if (expression.isInternalProblem) return [fieldErrors.internal(path, new Error(expression.problem))];
  return [fieldErrors.invalid(path, expression.source, expression.problem)];
}
