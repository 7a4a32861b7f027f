import {
  fieldErrors,
  validateLabelValue,
  validateQualifiedName,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { entriesAt, listAt, textAt, textsAt } from './fields.ts';

/** Checks a metav1.LabelSelector as every kind that holds one does. Label keys and values follow `apimachinery/pkg/util/validation`. */
export function labelSelectorErrors(selector: Json | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of entriesAt(selector, 'matchLabels')) {
    const labels = path.child('matchLabels');
    errors.push(...labelKeyErrors(key, labels));
    const text = typeof value === 'string' ? value : '';
    errors.push(...validateLabelValue(text).map((message) => fieldErrors.invalid(labels, text, message)));
  }
  for (const [index, requirement] of listAt(selector, 'matchExpressions').entries()) {
    errors.push(...labelSelectorRequirementErrors(requirement, path.child('matchExpressions').index(index)));
  }
  return errors;
}

/** One of `matchExpressions`. */
export function labelSelectorRequirementErrors(requirement: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const operator = textAt(requirement, 'operator');
  const values = textsAt(requirement, 'values');
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        errors.push(fieldErrors.required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        errors.push(
          fieldErrors.forbidden(
            path.child('values'),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
          ),
        );
      }
      break;
    default:
      errors.push(fieldErrors.invalid(path.child('operator'), operator, 'not a valid selector operator'));
  }
  errors.push(...labelKeyErrors(textAt(requirement, 'key'), path.child('key')));
  for (const [index, value] of values.entries()) {
    const where = path.child('values').index(index);
    errors.push(...validateLabelValue(value).map((message) => fieldErrors.invalid(where, value, message)));
  }
  return errors;
}

const labelKeyErrors = (key: string, path: FieldPath): FieldError[] =>
  validateQualifiedName(key).map((message) => fieldErrors.invalid(path, key, message));
