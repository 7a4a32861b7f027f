import { getOwn, isJsonObject, omittedValue, type Json, type JsonObject } from '@multiplane/apimachinery';
import { wasEmpty } from '../empty-members.ts';

type Form = (value: Json | undefined) => Json;

const asText: Form = (value) => (typeof value === 'string' ? value : '');
const asFlag: Form = (value) => value === true;
/** A pointer, or a list or map that keeps what it holds. */
const asIs: Form = (value) => value ?? null;
const asSchema: Form = (value) => (isJsonObject(value) ? internalSchema(value) : null);
const asSchemas: Form = (value) => (Array.isArray(value) ? value.map((item) => asSchema(item)) : null);
const asOrBool: Form = (value) => {
  if (typeof value === 'boolean') return { Allows: value, Schema: null };
  return isJsonObject(value) ? { Allows: true, Schema: internalSchema(value) } : null;
};
const asOrList: Form = (value) => {
  if (Array.isArray(value)) return { Schema: null, JSONSchemas: asSchemas(value) };
  if (value === undefined || value === null) return null;
  return { Schema: isJsonObject(value) ? internalSchema(value) : null, JSONSchemas: null };
};
const asOrNames: Form = (value) =>
  Array.isArray(value) ? { Schema: null, Property: value } : { Schema: asSchema(value), Property: null };
/** A map; Go prints its keys sorted. */
const asMap =
  (form: Form): Form =>
  (value) =>
    isJsonObject(value)
      ? Object.fromEntries(
          Object.keys(value)
            .toSorted()
            .map((key) => [key, form(value[key])]),
        )
      : null;
const asDocs: Form = (value) =>
  isJsonObject(value) ? { Description: asText(value['description']), URL: asText(value['url']) } : null;
const asRules: Form = (value) =>
  Array.isArray(value) ? value.map((rule) => internalRule(isJsonObject(rule) ? rule : {})) : null;

/** The fields of Kubernetes' internal JSONSchemaProps in their order, with the keyword that each is read from. */
const fields: readonly (readonly [name: string, keyword: string, form: Form])[] = [
  ['ID', 'id', asText],
  ['Schema', '$schema', asText],
  ['Ref', '$ref', asIs],
  ['Description', 'description', asText],
  ['Type', 'type', asText],
  ['Nullable', 'nullable', asFlag],
  ['Format', 'format', asText],
  ['Title', 'title', asText],
  ['Default', 'default', asIs],
  ['Maximum', 'maximum', asIs],
  ['ExclusiveMaximum', 'exclusiveMaximum', asFlag],
  ['Minimum', 'minimum', asIs],
  ['ExclusiveMinimum', 'exclusiveMinimum', asFlag],
  ['MaxLength', 'maxLength', asIs],
  ['MinLength', 'minLength', asIs],
  ['Pattern', 'pattern', asText],
  ['MaxItems', 'maxItems', asIs],
  ['MinItems', 'minItems', asIs],
  ['UniqueItems', 'uniqueItems', asFlag],
  ['MultipleOf', 'multipleOf', asIs],
  ['Enum', 'enum', asIs],
  ['MaxProperties', 'maxProperties', asIs],
  ['MinProperties', 'minProperties', asIs],
  ['Required', 'required', asIs],
  ['Items', 'items', asOrList],
  ['AllOf', 'allOf', asSchemas],
  ['OneOf', 'oneOf', asSchemas],
  ['AnyOf', 'anyOf', asSchemas],
  ['Not', 'not', asSchema],
  ['Properties', 'properties', asMap(asSchema)],
  ['AdditionalProperties', 'additionalProperties', asOrBool],
  ['PatternProperties', 'patternProperties', asMap(asSchema)],
  ['Dependencies', 'dependencies', asMap(asOrNames)],
  ['AdditionalItems', 'additionalItems', asOrBool],
  ['Definitions', 'definitions', asMap(asSchema)],
  ['ExternalDocs', 'externalDocs', asDocs],
  ['Example', 'example', asIs],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', asIs],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', asFlag],
  ['XIntOrString', 'x-kubernetes-int-or-string', asFlag],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', asIs],
  ['XListType', 'x-kubernetes-list-type', asIs],
  ['XMapType', 'x-kubernetes-map-type', asIs],
  ['XValidations', 'x-kubernetes-validations', asRules],
];

const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependencies', 'definitions']);

/** Of a member that was empty in the request. */
function emptyForm(keyword: string): Json {
  if (keyword === 'items') return asOrList([]);
  return maps.has(keyword) ? {} : [];
}

/**
 * A schema as messages show it: the JSON of Kubernetes' internal type, which has Go's field names and every field
 * (apiextensions `types_jsonschema.go`).
 */
export const internalSchema = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    fields.map(([name, keyword, form]) => [
      name,
      wasEmpty(schema, keyword) ? emptyForm(keyword) : form(getOwn(schema, keyword)),
    ]),
  );

/** A schema has about a kilobyte for each of its places then: one with more of them is left out of messages. */
const maxShownPlaces = 1000;

const placesOf = (value: Json | undefined): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, inner) => sum + placesOf(inner), 1);

/** {@link internalSchema} for a message; of a schema too great for one, nothing. */
export const shownSchema = (schema: JsonObject): JsonObject | typeof omittedValue =>
  placesOf(schema) > maxShownPlaces ? omittedValue : internalSchema(schema);

/** The `items` of a schema for a message. */
export const shownItems = (schema: JsonObject): Json | typeof omittedValue => {
  const items = wasEmpty(schema, 'items') ? [] : getOwn(schema, 'items');
  return placesOf(items) > maxShownPlaces ? omittedValue : asOrList(items);
};

/** The keywords that say something, by the names and in the order of the internal type. */
export function givenFields(schema: JsonObject): readonly string[] {
  return fields
    .filter(([, keyword, form]) => {
      if (wasEmpty(schema, keyword)) return true;
      const value = form(getOwn(schema, keyword));
      // A pointer to a zero is something.
      return form === asIs ? value !== null : value !== null && value !== false && value !== '';
    })
    .map(([name]) => name);
}

/** A rule of x-kubernetes-validations as messages show it. */
export const internalRule = (rule: JsonObject): JsonObject => ({
  Rule: asText(getOwn(rule, 'rule')),
  Message: asText(getOwn(rule, 'message')),
  MessageExpression: asText(getOwn(rule, 'messageExpression')),
  Reason: asIs(getOwn(rule, 'reason')),
  FieldPath: asText(getOwn(rule, 'fieldPath')),
  OptionalOldSelf: asIs(getOwn(rule, 'optionalOldSelf')),
});
