import {
  deepEqual,
  fieldErrors,
  FieldPath,
  isJsonObject,
  validateLabelValue,
  validateQualifiedName,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { at, listAt, objectAt, textAt, textsAt } from '../fields.ts';

/*
 * Authorizers look at all of these in one step. The headers and the URL of a request bound those of a real one.
 */
const maxGroups = 10_000;
/** Keys and values of extra fields, or requirements of a selector and their values. */
const maxParts = 1_000;
/** All extra fields, which may hold warrants, or the text of a selector. */
const maxTextBytes = 64 * 1024;

const attributes = FieldPath.of('spec', 'resourceAttributes');
const nonResource = FieldPath.of('spec', 'nonResourceAttributes');

/** Upstream prints these attributes with the names its own structs have. */
const printed = (value: JsonObject): JsonObject => ({ Path: textAt(value, 'path'), Verb: textAt(value, 'verb') });

/** Errors of the attributes: a review names exactly one of resource and path. `subject`: errors that come before those of selectors. */
function questionErrors(object: KubeObject, subject: readonly FieldError[] = []): FieldError[] {
  const resource = objectAt(object, 'spec', 'resourceAttributes');
  const other = objectAt(object, 'spec', 'nonResourceAttributes');
  const errors: FieldError[] = [];
  if (resource !== undefined && other !== undefined) {
    errors.push(
      fieldErrors.invalid(nonResource, printed(other), 'cannot be specified in combination with resourceAttributes'),
    );
  }
  if (resource === undefined && other === undefined) {
    errors.push(
      fieldErrors.invalid(
        attributes,
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    );
  }
  errors.push(...subject);
  if (resource !== undefined) {
    errors.push(...selectorErrors(at(resource, 'fieldSelector'), attributes.child('fieldSelector'), false));
    errors.push(...selectorErrors(at(resource, 'labelSelector'), attributes.child('labelSelector'), true));
  }
  return errors;
}

function selectorErrors(selector: Json | undefined, path: FieldPath, isLabel: boolean): FieldError[] {
  if (!isJsonObject(selector)) return [];
  const raw = textAt(selector, 'rawSelector');
  const requirements = listAt(selector, 'requirements');
  const parts = requirements.reduce((sum: number, requirement) => sum + 1 + listAt(requirement, 'values').length, 0);
  if (parts > maxParts) return [fieldErrors.tooMany(path.child('requirements'), parts, maxParts)];
  if (Buffer.byteLength(raw) > maxTextBytes) return [fieldErrors.tooLong(path.child('rawSelector'), maxTextBytes)];
  const errors: FieldError[] = [];
  if (raw !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements';
    errors.push(fieldErrors.invalid(path.child('rawSelector'), raw, detail));
  }
  if (raw === '' && requirements.length === 0) {
    const detail = `when ${path.toString()} is specified, requirements or rawSelector is required`;
    errors.push(fieldErrors.required(path.child('requirements'), detail));
  }
  requirements.forEach((requirement, index) =>
    errors.push(...requirementErrors(requirement, path.child('requirements').index(index), isLabel)),
  );
  return errors;
}

/** Operators that this version does not know are left to authorizers, as newer clients may send them. */
function requirementErrors(requirement: Json, path: FieldPath, isLabel: boolean): FieldError[] {
  const key = textAt(requirement, 'key');
  const errors: FieldError[] =
    !isLabel && key === '' ? [fieldErrors.required(path.child('key'), 'must be specified')] : [];
  const values = textsAt(requirement, 'values');
  const operator = textAt(requirement, 'operator');
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    errors.push(fieldErrors.required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    errors.push(fieldErrors.forbidden(path.child('values'), detail));
  }
  if (!isLabel) return errors;
  for (const message of validateQualifiedName(key)) errors.push(fieldErrors.invalid(path.child('key'), key, message));
  values.forEach((value, index) => {
    for (const message of validateLabelValue(value))
      errors.push(fieldErrors.invalid(path.child('values').index(index), value, message));
  });
  return errors;
}

function subjectErrors(object: KubeObject): FieldError[] {
  const groups = listAt(object, 'spec', 'groups').length;
  const errors: FieldError[] = [];
  if (textAt(object, 'spec', 'user') === '' && groups === 0) {
    const detail = 'at least one of user or group must be specified';
    errors.push(fieldErrors.invalid(FieldPath.of('spec', 'user'), '', detail));
  }
  if (groups > maxGroups) errors.push(fieldErrors.tooMany(FieldPath.of('spec', 'groups'), groups, maxGroups));
  errors.push(...extraErrors(objectAt(object, 'spec', 'extra') ?? {}));
  return errors;
}

function extraErrors(extra: JsonObject): FieldError[] {
  const path = FieldPath.of('spec', 'extra');
  const keys = Object.keys(extra);
  if (keys.length > maxParts) return [fieldErrors.tooMany(path, keys.length, maxParts)];
  const lists = keys.map((key) => textsAt(extra, key));
  const parts = lists.reduce((sum, texts) => sum + 1 + texts.length, 0);
  if (parts > maxParts) return [fieldErrors.tooMany(path, parts, maxParts)];
  const bytes = lists.flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return bytes > maxTextBytes ? [fieldErrors.tooLong(path, maxTextBytes)] : [];
}

/** A review is a question and has no metadata; `allowed` lists the fields that may be there. */
function metadataErrors(object: KubeObject, allowed: readonly string[], detail: string): FieldError[] {
  const { creationTimestamp: _created, ...metadata } = object.metadata as JsonObject;
  const rest = Object.fromEntries(
    Object.entries(metadata).filter(([key]) => key !== 'managedFields' && !allowed.includes(key)),
  );
  return deepEqual(rest, {}) ? [] : [fieldErrors.invalid('metadata', metadata, detail)];
}

export const subjectAccessReviewErrors = (object: KubeObject): FieldError[] => [
  ...questionErrors(object, subjectErrors(object)),
  ...metadataErrors(object, [], 'must be empty'),
];

export const selfSubjectAccessReviewErrors = (object: KubeObject): FieldError[] => [
  ...questionErrors(object),
  ...metadataErrors(object, [], 'must be empty'),
];

export function localSubjectAccessReviewErrors(object: KubeObject): FieldError[] {
  const namespace = object.metadata.namespace ?? '';
  const other = objectAt(object, 'spec', 'nonResourceAttributes');
  const errors = questionErrors(object, subjectErrors(object));
  errors.push(...metadataErrors(object, ['namespace'], 'must be empty except for namespace'));
  const asked = textAt(object, 'spec', 'resourceAttributes', 'namespace');
  if (objectAt(object, 'spec', 'resourceAttributes') !== undefined && asked !== namespace) {
    errors.push(fieldErrors.invalid(attributes.child('namespace'), asked, 'must match metadata.namespace'));
  }
  if (other !== undefined)
    errors.push(fieldErrors.invalid(nonResource, printed(other), 'disallowed on this kind of request'));
  return errors;
}
