import {
  deepEqual,
  fieldErrors,
  FieldPath,
  isJsonObject,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { at, listAt, objectAt, textAt } from '../fields.ts';

const attributes = FieldPath.of('spec', 'resourceAttributes');
const nonResource = FieldPath.of('spec', 'nonResourceAttributes');

/** Upstream prints these attributes with the names its own structs have. */
const printed = (value: JsonObject): JsonObject => ({ Path: textAt(value, 'path'), Verb: textAt(value, 'verb') });

/** What is asked about: exactly one of resource and path. */
function questionErrors(object: KubeObject): FieldError[] {
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
  if (resource !== undefined) {
    errors.push(...selectorErrors(at(resource, 'fieldSelector'), attributes.child('fieldSelector')));
    errors.push(...selectorErrors(at(resource, 'labelSelector'), attributes.child('labelSelector')));
  }
  return errors;
}

function selectorErrors(selector: Json | undefined, path: FieldPath): FieldError[] {
  if (!isJsonObject(selector)) return [];
  const raw = textAt(selector, 'rawSelector');
  const requirements = listAt(selector, 'requirements');
  if (raw !== '' && requirements.length > 0) {
    return [fieldErrors.invalid(path.child('rawSelector'), raw, 'may not specified at the same time as requirements')];
  }
  if (raw === '' && requirements.length === 0) {
    return [
      fieldErrors.required(
        path.child('requirements'),
        `when ${path.toString()} is specified, requirements or rawSelector is required`,
      ),
    ];
  }
  return requirements.flatMap((requirement, index) =>
    requirementErrors(requirement, path.child('requirements').index(index)),
  );
}

function requirementErrors(requirement: Json, path: FieldPath): FieldError[] {
  const errors =
    textAt(requirement, 'key') === '' ? [fieldErrors.required(path.child('key'), 'must be specified')] : [];
  const values = listAt(requirement, 'values');
  switch (textAt(requirement, 'operator')) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.push(fieldErrors.required(path.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        errors.push(
          fieldErrors.forbidden(
            path.child('values'),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
          ),
        );
      break;
    default:
      errors.push(
        fieldErrors.invalid(path.child('operator'), textAt(requirement, 'operator'), 'not a valid selector operator'),
      );
  }
  return errors;
}

function subjectErrors(object: KubeObject): FieldError[] {
  const named = textAt(object, 'spec', 'user') !== '' || listAt(object, 'spec', 'groups').length > 0;
  return named
    ? []
    : [fieldErrors.invalid(FieldPath.of('spec', 'user'), '', 'at least one of user or group must be specified')];
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
  ...questionErrors(object),
  ...subjectErrors(object),
  ...metadataErrors(object, [], 'must be empty'),
];

export const selfSubjectAccessReviewErrors = (object: KubeObject): FieldError[] => [
  ...questionErrors(object),
  ...metadataErrors(object, [], 'must be empty'),
];

export function localSubjectAccessReviewErrors(object: KubeObject): FieldError[] {
  const namespace = object.metadata.namespace ?? '';
  const other = objectAt(object, 'spec', 'nonResourceAttributes');
  const errors = other === undefined ? [...questionErrors(object), ...subjectErrors(object)] : subjectErrors(object);
  errors.push(...metadataErrors(object, ['namespace'], 'must be empty except for namespace'));
  if (other !== undefined)
    errors.push(fieldErrors.invalid(nonResource, printed(other), 'disallowed on this kind of request'));
  const asked = textAt(object, 'spec', 'resourceAttributes', 'namespace');
  if (objectAt(object, 'spec', 'resourceAttributes') !== undefined && asked !== namespace) {
    errors.push(fieldErrors.invalid(attributes.child('namespace'), asked, 'must match metadata.namespace'));
  }
  return errors;
}
