import {
  fieldErrors,
  parseApiVersion,
  validateDns1035Label,
  validateDns1123Subdomain,
  validatePathSegmentName,
  validateQualifiedName,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { at, listAt, objectAt, textAt, textsAt } from '../fields.ts';
import { labelSelectorErrors } from '../label-selector-rules.ts';
import { choiceErrors, expressionErrors } from './match-conditions.ts';
import type { MutationExpression, NamedExpression, ValidationExpressions } from './policy-expressions.ts';
import { namedRuleErrors } from './rule-validation.ts';

/*
 * Parts of admission policies and their bindings.
 */

const maxAuditAnnotations = 20;
const maxValueExpression = 5 * 1024;

/** `matchConstraints` and `matchResources`. */
export function matchResourcesErrors(match: Json | undefined, path: FieldPath): FieldError[] {
  const errors = choiceErrors(textAt(match, 'matchPolicy'), path.child('matchPolicy'), ['Equivalent', 'Exact']);
  for (const field of ['namespaceSelector', 'objectSelector']) {
    if (objectAt(match, field) === undefined) errors.push(fieldErrors.required(path.child(field)));
    else errors.push(...labelSelectorErrors(at(match, field), path.child(field)));
  }
  for (const field of ['resourceRules', 'excludeResourceRules']) {
    for (const [index, rule] of listAt(match, field).entries()) {
      errors.push(...namedRuleErrors(rule, path.child(field).index(index)));
    }
  }
  return errors;
}

/** What a policy must match: at least one rule. */
export function matchConstraintsErrors(spec: Json | undefined, path: FieldPath): FieldError[] {
  const constraints = objectAt(spec, 'matchConstraints');
  const where = path.child('matchConstraints');
  if (constraints === undefined) return [fieldErrors.required(where)];
  const errors = matchResourcesErrors(constraints, where);
  if (listAt(constraints, 'resourceRules').length === 0)
    errors.push(fieldErrors.required(where.child('resourceRules')));
  return errors;
}

export function paramKindErrors(kind: Json | undefined, path: FieldPath): FieldError[] {
  if (kind === undefined) return [];
  const errors: FieldError[] = [];
  const apiVersion = textAt(kind, 'apiVersion');
  const where = path.child('apiVersion');
  const parsed = parseApiVersion(apiVersion);
  if (apiVersion === '') {
    errors.push(fieldErrors.required(where));
  } else if (parsed === undefined) {
    errors.push(fieldErrors.invalid(where, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else {
    const group = parsed.group === '' ? [] : validateDns1123Subdomain(parsed.group);
    if (group.length > 0) errors.push(fieldErrors.invalid(where, parsed.group, group.join(',')));
    const version = validateDns1035Label(parsed.version);
    if (parsed.version === '') errors.push(fieldErrors.invalid(where, apiVersion, 'version must be specified'));
    else if (version.length > 0) errors.push(fieldErrors.invalid(where, parsed.version, version.join(',')));
  }
  const name = textAt(kind, 'kind');
  const messages = validateDns1035Label(name.toLowerCase());
  if (name === '') {
    errors.push(fieldErrors.required(path.child('kind')));
  } else if (messages.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${messages.join(',')}`;
    errors.push(fieldErrors.invalid(path.child('kind'), name, detail));
  }
  return errors;
}

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved = new Set(['true', 'false', 'null', 'in']);

export function variableErrors(
  variables: readonly Json[],
  compiled: readonly NamedExpression[],
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, variable] of variables.entries()) {
    const where = path.index(index);
    const name = textAt(variable, 'name');
    if (name.trim() === '') errors.push(fieldErrors.required(where.child('name'), 'name is not specified'));
    else if (!identifier.test(name) || reserved.has(name)) {
      errors.push(fieldErrors.invalid(where.child('name'), name, 'must be a valid CEL identifier'));
    }
    if (textAt(variable, 'expression').trim() === '') {
      errors.push(fieldErrors.required(where.child('expression'), 'expression is not specified'));
    } else errors.push(...expressionErrors(compiled[index]?.expression, where.child('expression')));
  }
  return errors;
}

const hasLineBreaks = (text: string): boolean => /[\r\n]/.test(text);

/** `validations` of a validating policy. */
export function validationErrors(
  validation: Json,
  compiled: ValidationExpressions | undefined,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const expression = textAt(validation, 'expression').trim();
  if (expression === '') errors.push(fieldErrors.required(path.child('expression'), 'expression is not specified'));
  else errors.push(...expressionErrors(compiled?.expression, path.child('expression')));
  const messageExpression = textAt(validation, 'messageExpression');
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(
      fieldErrors.invalid(path.child('messageExpression'), messageExpression, 'must be non-empty if specified'),
    );
  } else errors.push(...expressionErrors(compiled?.messageExpression, path.child('messageExpression')));
  const message = textAt(validation, 'message');
  const where = path.child('message');
  if (message !== '' && message.trim() === '') {
    errors.push(fieldErrors.invalid(where, message, 'must be non-empty if specified'));
  } else if (hasLineBreaks(message.trim())) {
    errors.push(fieldErrors.invalid(where, message, 'must not contain line breaks'));
  } else if (hasLineBreaks(expression) && message.trim() === '') {
    errors.push(fieldErrors.required(where, 'must be specified if expression contains line breaks'));
  }
  const reason = at(validation, 'reason');
  const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
  if (typeof reason === 'string' && !reasons.includes(reason)) {
    errors.push(fieldErrors.notSupported(path.child('reason'), reason, reasons));
  }
  return errors;
}

/** `auditAnnotations`: their keys are qualified by the policy's name. */
export function auditAnnotationErrors(
  policy: string,
  annotations: readonly Json[],
  compiled: readonly NamedExpression[],
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  if (annotations.length > maxAuditAnnotations) {
    errors.push(
      fieldErrors.invalid(path, annotations, `must not have more than ${maxAuditAnnotations} auditAnnotations`),
    );
  }
  for (const [index, annotation] of annotations.entries()) {
    const where = path.index(index);
    const key = textAt(annotation, 'key');
    const qualified = policy === '' ? key : `${policy}/${key}`;
    errors.push(
      ...validateQualifiedName(qualified).map((message) => fieldErrors.invalid(where.child('key'), qualified, message)),
    );
    const expression = textAt(annotation, 'valueExpression').trim();
    if (expression === '') {
      errors.push(fieldErrors.required(where.child('valueExpression'), 'valueExpression is not specified'));
    } else if (expression.length > maxValueExpression) {
      const detail = `must not exceed ${maxValueExpression} bytes in length`;
      errors.push(fieldErrors.required(where.child('valueExpression'), detail));
    } else errors.push(...expressionErrors(compiled[index]?.expression, where.child('valueExpression')));
    if (seen.has(key)) errors.push(fieldErrors.duplicate(where.child('key'), key));
    seen.add(key);
  }
  return errors;
}

/** `paramRef` of a binding: by name or by selector. */
export function paramRefErrors(ref: Json | undefined, path: FieldPath): FieldError[] {
  if (ref === undefined) return [];
  const errors: FieldError[] = [];
  const name = textAt(ref, 'name');
  const selector = objectAt(ref, 'selector');
  const exclusive = 'name and selector are mutually exclusive';
  if (name !== '') {
    errors.push(
      ...validatePathSegmentName(name).map((message) => fieldErrors.invalid(path.child('name'), name, message)),
    );
    if (selector !== undefined) errors.push(fieldErrors.forbidden(path.child('name'), exclusive));
  }
  if (selector !== undefined) {
    errors.push(...labelSelectorErrors(selector, path.child('selector')));
    if (name !== '') errors.push(fieldErrors.forbidden(path.child('selector'), exclusive));
  }
  if (name === '' && selector === undefined) {
    errors.push(fieldErrors.required(path, 'one of name or selector must be specified'));
  }
  const action = textAt(ref, 'parameterNotFoundAction');
  errors.push(...choiceErrors(action, path.child('parameterNotFoundAction'), ['Deny', 'Allow']));
  return errors;
}

/** `policyName` of a binding. */
export function policyNameErrors(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [fieldErrors.required(path)];
  return validateDns1123Subdomain(name).map((message) => fieldErrors.invalid(path, name, message));
}

/** `validationActions`: what a validating binding does with a refusal. */
export function validationActionErrors(spec: Json | undefined, path: FieldPath): FieldError[] {
  const actions = textsAt(spec, 'validationActions');
  const errors: FieldError[] = [];
  const known = ['Audit', 'Deny', 'Warn'];
  for (const [index, action] of actions.entries()) {
    if (!known.includes(action)) errors.push(fieldErrors.notSupported(path.index(index), action, known));
    if (actions.indexOf(action) < index) errors.push(fieldErrors.duplicate(path.index(index), action));
  }
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(fieldErrors.invalid(path, actions, detail));
  }
  if (actions.length === 0) errors.push(fieldErrors.required(path, 'at least one validation action is required'));
  return errors;
}

/** One of `mutations` of a mutating policy: the patch of its type, and no other. */
export function mutationErrors(
  mutation: Json,
  compiled: MutationExpression | undefined,
  path: FieldPath,
): FieldError[] {
  const patchTypes = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
  const type = textAt(mutation, 'patchType');
  const errors = choiceErrors(type, path.child('patchType'), Object.keys(patchTypes));
  if (errors.length > 0) return errors;
  // What the type demands comes first, then what it excludes.
  const fields = Object.entries(patchTypes).sort(([one]) => (one === type ? -1 : 1));
  for (const [patchType, field] of fields) {
    const patch = objectAt(mutation, field);
    const where = path.child(field);
    if (patchType !== type) {
      if (patch !== undefined) {
        const detail = `must not be specified when patchType is ${type}`;
        errors.push(fieldErrors.invalid(where, `{${field}}`, detail));
      }
    } else if (patch === undefined) {
      errors.push(fieldErrors.required(where, `must be specified when patchType is ${type}`));
    } else if (textAt(patch, 'expression').trim() === '') {
      errors.push(fieldErrors.required(where.child('expression')));
    } else errors.push(...expressionErrors(compiled?.expression, where.child('expression')));
  }
  return errors;
}
