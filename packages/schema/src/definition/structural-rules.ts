import {
  fieldErrors,
  fieldErrorText,
  getOwn,
  isJsonObject,
  type FieldError,
  type FieldPath,
  type JsonObject,
} from '@multiplane/apimachinery';
import { wasEmpty } from '../empty-members.ts';
import { patternProblem } from '../regex.ts';
import {
  defaultOf,
  isGiven,
  isIntOrStringPattern,
  isTrue,
  listOf,
  namedSchemasOf,
  objectOf,
  propertyPath,
  schemasOf,
  stringOf,
} from './schema-document.ts';

type Level = 'root' | 'item' | 'field';

/**
 * Whether a schema is structural: every place has a type, value rules under allOf, anyOf, oneOf and not say
 * nothing about structure, and what they speak of exists outside of them. Errors are sorted by their text.
 */
export function validateStructural(schema: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  validateNode(schema, 'root', path, errors);
  validateRuleCompleteness(schema, schema, path, path, errors);
  return errors
    .map((error) => ({ error, text: fieldErrorText(error) }))
    .toSorted((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ error }) => error);
}

function validateNode(schema: JsonObject, level: Level, path: FieldPath, errors: FieldError[]): void {
  const type = stringOf(schema, 'type');
  const items = objectOf(schema, 'items');
  if (type === 'array' && items === undefined)
    errors.push(fieldErrors.required(path.child('items'), 'must be specified'));
  if (items !== undefined) validateNode(items, 'item', path.child('items'), errors);
  for (const [name, property] of namedSchemasOf(schema, 'properties')) {
    validateNode(property, 'field', propertyPath(path, name), errors);
  }
  const additional = getOwn(schema, 'additionalProperties');
  if (additional !== undefined && additional !== null) {
    const where = path.child('additionalProperties');
    if (level === 'root') errors.push(fieldErrors.forbidden(where, 'must not be used at the root'));
    if (isJsonObject(additional)) validateNode(additional, 'field', where, errors);
  }
  validateExtensions(schema, path, errors);
  const skipAnyOf = isIntOrStringPattern(listOf(schema, 'anyOf'));
  const first = schemasOf(schema, 'allOf')[0];
  const skipFirstAllOf = first !== undefined && isIntOrStringPattern(listOf(first, 'anyOf'));
  validateValueRules(schema, skipAnyOf, skipFirstAllOf, path, errors);
  validateType(schema, type, level, path, errors);
  validateMetaFields(schema, level, path, errors);
}

function validateType(schema: JsonObject, type: string, level: Level, path: FieldPath, errors: FieldError[]): void {
  const embedded = isTrue(schema, 'x-kubernetes-embedded-resource');
  const where = path.child('type');
  if (embedded && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? fieldErrors.required(where, detail) : fieldErrors.invalid(where, type, detail));
  } else if (
    type === '' &&
    !isTrue(schema, 'x-kubernetes-int-or-string') &&
    !isTrue(schema, 'x-kubernetes-preserve-unknown-fields')
  ) {
    const places = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' };
    errors.push(fieldErrors.required(where, `must not be empty ${places[level]}`));
  }
  if (embedded && isGivenAdditional(schema)) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set';
    errors.push(fieldErrors.forbidden(path.child('additionalProperties'), detail));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(fieldErrors.invalid(where, type, 'must be object at the root'));
  }
}

/** Of the fields that every object has, a schema may say little. */
function validateMetaFields(schema: JsonObject, level: Level, path: FieldPath, errors: FieldError[]): void {
  const embedded = isTrue(schema, 'x-kubernetes-embedded-resource');
  const isResource = level === 'root' || embedded;
  const properties = objectOf(schema, 'properties') ?? {};
  if (isResource) {
    for (const name of ['kind', 'apiVersion']) {
      const property = objectOf(properties, name);
      const type = property === undefined ? 'string' : stringOf(property, 'type');
      if (type !== 'string')
        errors.push(fieldErrors.invalid(propertyPath(path, name).child('type'), type, 'must be string'));
    }
  }
  const metadata = objectOf(properties, 'metadata');
  if (metadata !== undefined) {
    const where = propertyPath(path, 'metadata');
    const type = stringOf(metadata, 'type');
    if (isResource && type !== 'object') errors.push(fieldErrors.invalid(where.child('type'), type, 'must be object'));
    if (level === 'root' && !restrictsNamesOnly(metadata)) {
      const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
      errors.push(fieldErrors.forbidden(where, detail));
    }
  }
  if (embedded && !isTrue(schema, 'x-kubernetes-preserve-unknown-fields') && Object.keys(properties).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(fieldErrors.required(path.child('properties'), detail));
  }
}

/** Keywords that are pointers in Kubernetes' structural schema, where a zero is something. */
const pointers: readonly string[] = [
  'maximum',
  'minimum',
  'multipleOf',
  'additionalProperties',
  'externalDocs',
  'example',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  ...['Length', 'Items', 'Properties'].flatMap((name) => [`max${name}`, `min${name}`]),
];
/** Lists that are kept as they are, where an empty one is something. */
const keptLists: readonly string[] = ['required', 'x-kubernetes-validations', 'x-kubernetes-list-map-keys'];

const isPresent = (schema: JsonObject, key: string): boolean => (getOwn(schema, key) ?? null) !== null;

function restrictsNamesOnly(metadata: JsonObject): boolean {
  if (pointers.some((key) => isPresent(metadata, key))) return false;
  if (keptLists.some((key) => isPresent(metadata, key) || wasEmpty(metadata, key))) return false;
  for (const key of Object.keys(metadata)) {
    if (key === 'type' || key === 'default' || !isGiven(metadata, key)) continue;
    if (key !== 'properties') return false;
    const names = Object.keys(objectOf(metadata, 'properties') ?? {});
    if (!names.every((name) => name === 'name' || name === 'generateName')) return false;
  }
  return true;
}

function validateExtensions(schema: JsonObject, path: FieldPath, errors: FieldError[]): void {
  if (!isTrue(schema, 'x-kubernetes-int-or-string')) return;
  for (const extension of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']) {
    if (!isTrue(schema, extension)) continue;
    errors.push(
      fieldErrors.invalid(path.child(extension), true, 'must be false if x-kubernetes-int-or-string is true'),
    );
  }
}

function validateValueRules(
  schema: JsonObject,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (!skipAnyOf) {
    schemasOf(schema, 'anyOf').forEach((nested, index) =>
      validateNested(nested, false, path.child('anyOf').index(index), errors),
    );
  }
  schemasOf(schema, 'allOf').forEach((nested, index) =>
    validateNested(nested, skipFirstAllOf && index === 0, path.child('allOf').index(index), errors),
  );
  schemasOf(schema, 'oneOf').forEach((nested, index) =>
    validateNested(nested, false, path.child('oneOf').index(index), errors),
  );
  const not = objectOf(schema, 'not');
  if (not !== undefined) validateNested(not, false, path.child('not'), errors);
  const pattern = stringOf(schema, 'pattern');
  const problem = pattern === '' ? undefined : patternProblem(pattern);
  if (problem !== undefined) {
    errors.push(
      fieldErrors.invalid(path.child('pattern'), pattern, `must be a valid regular expression, but isn't: ${problem}`),
    );
  }
}

/** Keywords that speak of structure, with what must be true of them below allOf and its relatives. */
const structureKeywords: readonly (readonly [string, 'empty' | 'undefined' | 'false'])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
];

function validateNested(schema: JsonObject, skipAnyOf: boolean, path: FieldPath, errors: FieldError[]): void {
  validateValueRules(schema, skipAnyOf, false, path, errors);
  const items = objectOf(schema, 'items');
  if (items !== undefined) validateNested(items, false, path.child('items'), errors);
  for (const [name, property] of namedSchemasOf(schema, 'properties')) {
    validateNested(property, false, propertyPath(path, name), errors);
  }
  for (const [keyword, wanted] of structureKeywords) {
    const given =
      keyword === 'additionalProperties'
        ? isGivenAdditional(schema) && getOwn(schema, keyword) !== false
        : keyword === 'default'
          ? defaultOf(schema) !== undefined
          : isGiven(schema, keyword);
    if (given) errors.push(fieldErrors.forbidden(path.child(keyword), `must be ${wanted} to be structural`));
  }
  if (objectOf(objectOf(schema, 'properties') ?? {}, 'metadata') !== undefined) {
    errors.push(fieldErrors.forbidden(propertyPath(path, 'metadata'), 'must not be specified in a nested context'));
  }
}

function isGivenAdditional(schema: JsonObject): boolean {
  const additional = getOwn(schema, 'additionalProperties');
  return additional !== undefined && additional !== null;
}

/**
 * Every field and item that value rules speak of must be known to the schema outside of them. Asked of the rules at
 * the root only, as in Kubernetes: definitions in use break the rule further below.
 */
function validateRuleCompleteness(
  rules: JsonObject,
  schema: JsonObject | undefined,
  schemaPath: FieldPath,
  rulePath: FieldPath,
  errors: FieldError[],
): void {
  const nested = (inner: JsonObject, where: FieldPath): void =>
    validateNestedCompleteness(inner, schema, schemaPath, where, errors);
  const not = objectOf(rules, 'not');
  if (not !== undefined) nested(not, rulePath.child('not'));
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    schemasOf(rules, keyword).forEach((inner, index) => nested(inner, rulePath.child(keyword).index(index)));
  }
}

function validateNestedCompleteness(
  rules: JsonObject,
  schema: JsonObject | undefined,
  schemaPath: FieldPath,
  rulePath: FieldPath,
  errors: FieldError[],
): void {
  if (schema === undefined) {
    errors.push(fieldErrors.required(schemaPath, `because it is defined in ${rulePath.toString()}`));
    return;
  }
  validateRuleCompleteness(rules, schema, schemaPath, rulePath, errors);
  const items = objectOf(rules, 'items');
  if (items !== undefined) {
    validateNestedCompleteness(
      items,
      objectOf(schema, 'items'),
      schemaPath.child('items'),
      rulePath.child('items'),
      errors,
    );
  }
  const properties = objectOf(schema, 'properties') ?? {};
  for (const [name, inner] of namedSchemasOf(rules, 'properties')) {
    const at = propertyPath(rulePath, name);
    validateNestedCompleteness(inner, objectOf(properties, name), propertyPath(schemaPath, name), at, errors);
  }
}
