import {
  deepEqual,
  fieldErrors,
  getOwn,
  isJsonObject,
  type FieldError,
  type FieldPath,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { formatOf } from '../formats.ts';
import { validateDefaults } from './default-rules.ts';
import { resolveFieldPath } from './field-path.ts';
import { wasEmpty } from '../empty-members.ts';
import { givenFields, shownItems, shownSchema } from './internal-schema.ts';
import {
  defaultOf,
  isGiven,
  isTrue,
  listOf,
  namedSchemasOf,
  objectOf,
  propertyPath,
  schemasOf,
  stringOf,
  textsOf,
} from './schema-document.ts';
import { structuralProblem } from './structural-problem.ts';
import { validateStructural } from './structural-rules.ts';

export interface DefinitionSchemaRules {
  /** Where the schema stands (`spec.validation.openAPIV3Schema` or `spec.versions[i].schema.openAPIV3Schema`). */
  readonly path: FieldPath;
  /** The version has the status subresource: its schema is also used for the status alone. */
  readonly statusSubresource: boolean;
  /** The schema that is stored; one that did not change is accepted as it is. */
  readonly old?: JsonObject | undefined;
  /**
   * Judges x-kubernetes-validations; called only if the schema is structural and its defaults fit. `broken` are the parts of
   * the schema with an error in them: their own rules are not judged.
   */
  readonly validateRules?:
    | ((schema: JsonObject, path: FieldPath, broken: ReadonlySet<JsonObject>) => FieldError[])
    | undefined;
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/**
 * Checks the schema of a CustomResourceDefinition: whether it is structural, else whether its defaults
 * fit; then every keyword, place by place.
 */
export function validateDefinitionSchema(schema: JsonObject, rules: DefinitionSchemaRules): FieldError[] {
  const { path } = rules;
  if (rules.old !== undefined && deepEqual(schema, rules.old)) return [];
  const errors: FieldError[] = [];
  if (rules.statusSubresource) validateRootForStatus(schema, path, errors);
  if (isTrue(schema, 'nullable'))
    errors.push(fieldErrors.forbidden(path.child('nullable'), 'nullable cannot be true at the root'));
  const problem = structuralProblem(schema);
  const unfit = problem === undefined ? structureErrors(schema, path) : [];
  errors.push(...unfit);
  const keywords = new KeywordValidator(errors);
  keywords.validate(schema, path, { isRoot: true, insideMetadata: false, noDefaults: undefined });
  if (problem !== undefined) {
    // The keywords say the same in other words, unless they allow what cannot be read.
    if (errors.length === 0) errors.push(fieldErrors.invalid(path, '', problem));
  } else if (unfit.length === 0 && rules.validateRules !== undefined) {
    errors.push(...rules.validateRules(schema, path, keywords.broken));
  }
  return errors;
}

function structureErrors(schema: JsonObject, path: FieldPath): FieldError[] {
  const structural = validateStructural(schema, path);
  return structural.length > 0 ? structural : validateDefaults(schema, path);
}

/** Fields of the internal JSONSchemaProps that say nothing that the status, validated alone, would miss. */
const rootFields = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
];

/** The status is validated alone, with `properties.status`: no rule at the root may get lost by that. */
function validateRootForStatus(schema: JsonObject, path: FieldPath, errors: FieldError[]): void {
  for (const field of givenFields(schema)) {
    const type = stringOf(schema, 'type');
    if (field === 'Type' && type !== 'object') {
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      errors.push(fieldErrors.invalid(path.child('type'), type, detail));
      return;
    }
    if (rootFields.includes(field)) continue;
    const detail = `only [${rootFields.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`;
    errors.push(fieldErrors.invalid(path, shownSchema(schema), detail));
    return;
  }
}

interface Place {
  readonly isRoot: boolean;
  /** Below the metadata, apiVersion or kind of the object or of an embedded resource. */
  readonly insideMetadata: boolean;
  /** Why there may be no defaults here. */
  readonly noDefaults: string | undefined;
}

class KeywordValidator {
  readonly #errors: FieldError[];
  /** Schemas in which an error was found, or in a schema below them. */
  readonly broken = new Set<JsonObject>();
  constructor(errors: FieldError[]) {
    this.#errors = errors;
  }

  validate(schema: JsonObject, path: FieldPath, place: Place): void {
    const before = this.#errors.length;
    this.#keywords(schema, path, place);
    if (this.#errors.length > before) this.broken.add(schema);
  }

  #keywords(schema: JsonObject, path: FieldPath, place: Place): void {
    this.#unsupported(schema, path, place);
    if (isTrue(schema, 'uniqueItems')) {
      const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
      this.#errors.push(fieldErrors.forbidden(path.child('uniqueItems'), detail));
    }
    this.#children(schema, path, place);
    if (getOwn(schema, 'x-kubernetes-preserve-unknown-fields') === false) {
      const where = path.child('x-kubernetes-preserve-unknown-fields');
      this.#errors.push(fieldErrors.invalid(where, false, 'must be true or undefined'));
    }
    this.#mapType(schema, path);
    this.#listType(schema, path);
    this.#rules(schema, path);
  }

  #unsupported(schema: JsonObject, path: FieldPath, place: Place): void {
    const type = stringOf(schema, 'type');
    if (type !== '' && !types.includes(type))
      this.#errors.push(fieldErrors.notSupported(path.child('type'), type, types));
    if (place.noDefaults !== undefined && defaultOf(schema) !== undefined) {
      this.#errors.push(fieldErrors.forbidden(path.child('default'), `must not be set ${place.noDefaults}`));
    }
    for (const keyword of ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref']) {
      const value = getOwn(schema, keyword);
      const given =
        keyword === 'additionalItems' || keyword === 'dependencies' || keyword === '$ref'
          ? (value !== undefined && value !== null) || wasEmpty(schema, keyword)
          : isGiven(schema, keyword);
      if (given) this.#errors.push(fieldErrors.forbidden(path.child(keyword), `${keyword} is not supported`));
    }
    if (type === 'null') {
      const detail = 'type cannot be set to null, use nullable as an alternative';
      this.#errors.push(fieldErrors.forbidden(path.child('type'), detail));
    }
    if (listOf(schema, 'items').length > 0) {
      this.#errors.push(fieldErrors.forbidden(path.child('items'), 'items must be a schema object and not an array'));
    }
    if (place.insideMetadata && isTrue(schema, 'x-kubernetes-embedded-resource')) {
      const where = path.child('x-kubernetes-embedded-resource');
      this.#errors.push(fieldErrors.forbidden(where, 'must not be used inside of resource meta'));
    }
  }

  #children(schema: JsonObject, path: FieldPath, place: Place): void {
    const below: Place = { ...place, isRoot: false };
    const additional = getOwn(schema, 'additionalProperties');
    if (additional !== undefined && additional !== null) {
      const where = path.child('additionalProperties');
      if (additional !== true && namedSchemasOf(schema, 'properties').length > 0) {
        this.#errors.push(fieldErrors.forbidden(where, 'additionalProperties and properties are mutual exclusive'));
      }
      if (isJsonObject(additional)) {
        const noDefaults = place.insideMetadata
          ? 'inside additionalProperties applying to object metadata'
          : place.noDefaults;
        this.validate(additional, where, { ...below, noDefaults });
      }
    }
    const isResource = place.isRoot || isTrue(schema, 'x-kubernetes-embedded-resource');
    for (const [name, property] of namedSchemasOf(schema, 'properties')) {
      const isMeta = isResource && (name === 'metadata' || name === 'apiVersion' || name === 'kind');
      const noDefaults = isMeta && place.isRoot ? `in top-level ${name}` : place.noDefaults;
      this.validate(property, propertyPath(path, name), {
        isRoot: false,
        insideMetadata: place.insideMetadata || isMeta,
        noDefaults,
      });
    }
    const not = objectOf(schema, 'not');
    if (not !== undefined) this.validate(not, path.child('not'), below);
    for (const keyword of ['allOf', 'oneOf', 'anyOf']) {
      schemasOf(schema, keyword).forEach((nested, index) =>
        this.validate(nested, path.child(keyword).index(index), below),
      );
    }
    for (const [name, definition] of namedSchemasOf(schema, 'definitions')) {
      this.validate(definition, propertyPath(path, name, 'definitions'), below);
    }
    const items = objectOf(schema, 'items');
    if (items !== undefined) this.validate(items, path.child('items'), below);
    schemasOf(schema, 'items').forEach((item, index) => this.validate(item, path.child('items').index(index), below));
    for (const [name, dependency] of namedSchemasOf(schema, 'dependencies')) {
      this.validate(dependency, propertyPath(path, name, 'dependencies'), below);
    }
  }

  #wrongType(schema: JsonObject, path: FieldPath, detail: string): void {
    const type = stringOf(schema, 'type');
    const where = path.child('type');
    this.#errors.push(type === '' ? fieldErrors.required(where, detail) : fieldErrors.invalid(where, type, detail));
  }

  #mapType(schema: JsonObject, path: FieldPath): void {
    const mapType = stringOf(schema, 'x-kubernetes-map-type');
    if (getOwn(schema, 'x-kubernetes-map-type') === undefined) return;
    if (stringOf(schema, 'type') !== 'object') {
      this.#wrongType(schema, path, 'must be object if x-kubernetes-map-type is specified');
    }
    if (mapType !== 'atomic' && mapType !== 'granular') {
      this.#errors.push(fieldErrors.notSupported(path.child('x-kubernetes-map-type'), mapType, ['atomic', 'granular']));
    }
  }

  #listType(schema: JsonObject, path: FieldPath): void {
    const given = getOwn(schema, 'x-kubernetes-list-type') !== undefined;
    const listType = stringOf(schema, 'x-kubernetes-list-type');
    const items = objectOf(schema, 'items');
    const where = path.child('x-kubernetes-list-type');
    if (given && stringOf(schema, 'type') !== 'array') {
      this.#wrongType(schema, path, 'must be array if x-kubernetes-list-type is specified');
    } else if (listType === 'set' && items !== undefined) {
      this.#setItems(items, path.child('items'));
    }
    if (given && !['atomic', 'set', 'map'].includes(listType)) {
      this.#errors.push(fieldErrors.notSupported(where, listType, ['atomic', 'set', 'map']));
    }
    if (listOf(schema, 'x-kubernetes-list-map-keys').length > 0 && listType !== 'map') {
      const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
      this.#errors.push(given ? fieldErrors.invalid(where, listType, detail) : fieldErrors.required(where, detail));
    }
    if (listType === 'map') this.#listMap(schema, items, path);
    if ((listType === 'set' || listType === 'map') && items !== undefined)
      this.#identity(schema, items, listType, path);
  }

  /** Items of sets are compared as wholes, so nothing in them may have owners of its own. */
  #setItems(items: JsonObject, path: FieldPath): void {
    const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
    const listType = getOwn(items, 'x-kubernetes-list-type');
    if (stringOf(items, 'type') === 'array' && listType !== undefined && listType !== 'atomic') {
      this.#errors.push(fieldErrors.invalid(path.child('x-kubernetes-list-type'), listType, detail));
    } else if (stringOf(items, 'type') === 'object' && stringOf(items, 'x-kubernetes-map-type') !== 'atomic') {
      this.#errors.push(fieldErrors.invalid(path.child('x-kubernetes-map-type'), listType ?? null, detail));
    }
  }

  #listMap(schema: JsonObject, items: JsonObject | undefined, path: FieldPath): void {
    const keys = textsOf(schema, 'x-kubernetes-list-map-keys');
    const where = path.child('x-kubernetes-list-map-keys');
    if (keys.length === 0)
      this.#errors.push(fieldErrors.required(where, 'must not be empty if x-kubernetes-list-type is map'));
    if (items === undefined) {
      // A decoder takes what is neither a schema nor a list for an empty list.
      if ((getOwn(schema, 'items') ?? null) !== null || wasEmpty(schema, 'items')) {
        const detail = 'must only have a single schema if x-kubernetes-list-type is map';
        this.#errors.push(fieldErrors.invalid(path.child('items'), shownItems(schema), detail));
      } else {
        this.#errors.push(
          fieldErrors.required(path.child('items'), 'must have a schema if x-kubernetes-list-type is map'),
        );
      }
      return;
    }
    const type = stringOf(items, 'type');
    if (type !== 'object') {
      const detail = "must be object if parent array's x-kubernetes-list-type is map";
      this.#errors.push(fieldErrors.invalid(path.child('items').child('type'), type, detail));
      return;
    }
    const seen = new Set<string>();
    for (const key of keys) {
      const property = objectOf(objectOf(items, 'properties') ?? {}, key);
      if (property === undefined) {
        this.#errors.push(fieldErrors.invalid(where, [...keys], 'entries must all be names of item properties'));
      } else if (['array', 'object'].includes(stringOf(property, 'type'))) {
        const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        this.#errors.push(fieldErrors.invalid(propertyPath(path.child('items'), key).child('type'), type, detail));
      }
      if (seen.has(key)) this.#errors.push(fieldErrors.invalid(where, [...keys], 'must not contain duplicate entries'));
      seen.add(key);
    }
  }

  /** Keys of list items are required or have defaults. */
  #identity(schema: JsonObject, items: JsonObject, listType: 'set' | 'map', path: FieldPath): void {
    const at = path.child('items');
    if (isTrue(items, 'nullable')) {
      this.#errors.push(
        fieldErrors.forbidden(at.child('nullable'), `cannot be nullable when x-kubernetes-list-type is ${listType}`),
      );
    }
    if (listType === 'set') return;
    const required = new Set(textsOf(items, 'required'));
    for (const key of textsOf(schema, 'x-kubernetes-list-map-keys')) {
      const property = objectOf(objectOf(items, 'properties') ?? {}, key);
      if (property === undefined) continue;
      const where = propertyPath(at, key);
      if (!required.has(key) && getOwn(property, 'default') === undefined) {
        const detail =
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
        this.#errors.push(fieldErrors.required(where.child('default'), detail));
      }
      if (isTrue(property, 'nullable')) {
        const detail = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
        this.#errors.push(fieldErrors.forbidden(where.child('nullable'), detail));
      }
    }
  }

  /** x-kubernetes-validations, as far as no expression need be compiled. */
  #rules(schema: JsonObject, path: FieldPath): void {
    schemasOf(schema, 'x-kubernetes-validations').forEach((rule, index) => {
      const where = path.child('x-kubernetes-validations').index(index);
      const expression = stringOf(rule, 'rule').trim();
      const message = stringOf(rule, 'message');
      if (expression === '') {
        this.#errors.push(fieldErrors.required(where.child('rule'), 'rule is not specified'));
      } else if (message !== '' && message.trim() === '') {
        this.#errors.push(fieldErrors.invalid(where.child('message'), message, 'must be non-empty if specified'));
      } else if (hasLineBreak(message.trim())) {
        this.#errors.push(fieldErrors.invalid(where.child('message'), message, 'must not contain line breaks'));
      } else if (hasLineBreak(expression) && message.trim() === '') {
        const detail = 'message must be specified if rule contains line breaks';
        this.#errors.push(fieldErrors.required(where.child('message'), detail));
      }
      const messageExpression = stringOf(rule, 'messageExpression');
      if (messageExpression !== '' && messageExpression.trim() === '') {
        const detail = 'messageExpression must be non-empty if specified';
        this.#errors.push(fieldErrors.required(where.child('messageExpression'), detail));
      }
      const reason = getOwn(rule, 'reason');
      if (reason !== undefined && reason !== null && !(reasons as readonly Json[]).includes(reason)) {
        this.#errors.push(fieldErrors.notSupported(where.child('reason'), reason, reasons));
      }
      this.#ruleField(schema, stringOf(rule, 'fieldPath'), where.child('fieldPath'));
    });
  }

  #ruleField(schema: JsonObject, fieldPath: string, where: FieldPath): void {
    if (fieldPath === '') return;
    if (fieldPath.trim() === '') {
      this.#errors.push(fieldErrors.invalid(where, fieldPath, 'must be non-empty if specified'));
    }
    if (hasLineBreak(fieldPath)) {
      this.#errors.push(fieldErrors.invalid(where, fieldPath, 'must not contain line breaks'));
    }
    const isUnknown = typeof resolveFieldPath(fieldPath, schema, { brackets: true }) === 'string';
    // Of a schema that is not structural nothing is known.
    if (isUnknown && structuralProblem(schema) === undefined) {
      this.#errors.push(fieldErrors.invalid(where, fieldPath, 'must be a valid path'));
    }
  }
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** Formats in the schema that validation does not know and therefore ignores; for the warnings of a definition. */
export function unrecognizedFormats(schema: JsonObject): string[] {
  const found = new Set<string>();
  collectFormats(schema, found);
  return [...found];
}

function collectFormats(schema: JsonObject, found: Set<string>): void {
  const format = stringOf(schema, 'format');
  if (format !== '' && formatOf(format, stringOf(schema, 'type')) === undefined) found.add(format);
  for (const keyword of ['items', 'not', 'additionalProperties']) {
    const nested = objectOf(schema, keyword);
    if (nested !== undefined) collectFormats(nested, found);
  }
  for (const [, property] of namedSchemasOf(schema, 'properties')) collectFormats(property, found);
  for (const keyword of ['allOf', 'oneOf', 'anyOf']) {
    for (const nested of schemasOf(schema, keyword)) collectFormats(nested, found);
  }
}
