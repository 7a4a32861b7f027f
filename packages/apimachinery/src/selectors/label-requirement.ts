import { fieldErrors, FieldPath, type FieldError } from '../validation/field-error.ts';
import { validateLabelValue, validateQualifiedName } from '../validation/names.ts';
import { parseInt64, StrconvError } from '../go/strconv.ts';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';
export type Labels = Readonly<Record<string, string>>;

/** One term of a label selector. Values are sorted and unique. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** What is wrong with a requirement; paths as upstream (`<nil>` for the key, `values[0][key]`). */
export function validateLabelRequirement(
  { key, operator, values }: LabelRequirement,
  path = FieldPath.root(),
): FieldError[] {
  const errors = validateLabelKey(key, path);
  const valuesPath = path.child('values');
  switch (operator) {
    case 'in':
    case 'notin':
      if (values.length === 0)
        errors.push(fieldErrors.invalid(valuesPath, values, "for 'in', 'notin' operators, values set can't be empty"));
      break;
    case '=':
    case '==':
    case '!=':
      if (values.length !== 1)
        errors.push(fieldErrors.invalid(valuesPath, values, 'exact-match compatibility requires one single value'));
      break;
    case 'exists':
    case '!':
      if (values.length !== 0)
        errors.push(fieldErrors.invalid(valuesPath, values, 'values set must be empty for exists and does not exist'));
      break;
    case 'gt':
    case 'lt':
      if (values.length !== 1)
        errors.push(fieldErrors.invalid(valuesPath, values, "for 'Gt', 'Lt' operators, exactly one value is required"));
      values.forEach((value, index) => {
        if (toInteger(value) === undefined) {
          errors.push(
            fieldErrors.invalid(
              valuesPath.index(index),
              value,
              "for 'Gt', 'Lt' operators, the value must be an integer",
            ),
          );
        }
      });
      break;
  }
  values.forEach((value, index) => {
    const messages = validateLabelValue(value);
    if (messages.length > 0)
      errors.push(fieldErrors.invalid(valuesPath.index(index).key(key), value, messages.join('; ')));
  });
  return errors;
}

export function validateLabelKey(key: string, path: FieldPath): FieldError[] {
  const messages = validateQualifiedName(key);
  return messages.length === 0 ? [] : [fieldErrors.invalid(path, key, messages.join('; '))];
}

function toInteger(text: string): number | undefined {
  try {
    return parseInt64(text);
  } catch (error) {
    if (error instanceof StrconvError) return undefined;
    throw error;
  }
}

/**
 * Whether labels satisfy one requirement. A missing label satisfies `!=`, `notin` and `!` only. `set` holds the values
 * when there are many of them.
 */
export function requirementMatches(
  { key, operator, values }: LabelRequirement,
  labels: Labels,
  set?: ReadonlySet<string>,
): boolean {
  // `constructor` is a legal key of a label: only own properties count.
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case '=':
    case '==':
      return value !== undefined && value === values[0];
    case 'in':
      return value !== undefined && (set === undefined ? values.includes(value) : set.has(value));
    case '!=':
      return value === undefined || value !== values[0];
    case 'notin':
      return value === undefined || !(set === undefined ? values.includes(value) : set.has(value));
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const actual = value === undefined ? undefined : toInteger(value);
      if (actual === undefined) return false;
      const bound = Number(values[0]);
      return operator === 'gt' ? actual > bound : actual < bound;
    }
  }
}

/** The requirement as it stands in a selector. */
export function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
      return `${key}>${values[0] ?? ''}`;
    case 'lt':
      return `${key}<${values[0] ?? ''}`;
    default:
      return key + operator + (values[0] ?? '');
  }
}
