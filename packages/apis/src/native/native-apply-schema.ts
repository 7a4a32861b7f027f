import { apiVersionOf, isJsonObject, type GroupVersionKind, type JsonObject } from '@multiplane/apimachinery';
import {
  fieldFactsOf,
  isAtomicMessage,
  isPlainMessage,
  protobufMessageName,
  type FieldFacts,
} from '../schemas/protobuf-messages.ts';

/**
 * What server-side apply works with for a kind that a definition brings back: the definition's schema, and in it
 * Kubernetes' own list types where the author has said nothing. Fields that are kept although the schema does not
 * name them get the structure that Kubernetes gives them. Undefined for a kind that is none of Kubernetes' own.
 */
export function nativeApplySchema(kind: GroupVersionKind): ((source: JsonObject) => JsonObject) | undefined {
  const message = protobufMessageName(apiVersionOf(kind), kind.kind);
  return message === undefined ? undefined : (source) => withFields(source, message, false);
}

const preserveMark = 'x-kubernetes-preserve-unknown-fields';
const listTypeMark = 'x-kubernetes-list-type';
/** Anything at all. */
const free: JsonObject = { [preserveMark]: true };
/** Keys of list items that have a default. */
const keyDefaults: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** A schema of objects with what is known of a message's fields. `inherited`: unknown fields are kept around it. */
function withFields(schema: JsonObject, message: string, inherited: boolean): JsonObject {
  const preserve = inherited || schema[preserveMark] === true;
  const named = isJsonObject(schema['properties'] ?? null) ? (schema['properties'] as JsonObject) : {};
  const properties = { ...named };
  for (const facts of allFields(message)) {
    const own = properties[facts.name];
    if (own !== undefined && isJsonObject(own)) properties[facts.name] = withField(own, facts, preserve);
    else if (own === undefined && preserve) properties[facts.name] = fieldSchema(facts);
  }
  const atomic = isAtomicMessage(message) && schema['x-kubernetes-map-type'] === undefined;
  return { ...schema, properties, ...(atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}) };
}

function withField(schema: JsonObject, facts: FieldFacts, preserve: boolean): JsonObject {
  if (facts.shape === 'single' && schema['type'] === 'object' && isPlainMessage(facts.type))
    return withFields(schema, facts.type, preserve);
  if (facts.shape !== 'repeated' || schema['type'] !== 'array') return schema;
  const items = isJsonObject(schema['items'] ?? null) ? (schema['items'] as JsonObject) : undefined;
  const known =
    items !== undefined && isPlainMessage(facts.type)
      ? { ...schema, items: withFields(items, facts.type, preserve) }
      : schema;
  return schema[listTypeMark] === undefined ? withListType(known, facts) : known;
}

function withListType(list: JsonObject, { listKeys }: FieldFacts): JsonObject {
  if (listKeys === undefined) return { ...list, [listTypeMark]: 'atomic' };
  if (listKeys.length === 0) return { ...list, [listTypeMark]: 'set' };
  const items = isJsonObject(list['items'] ?? null) ? (list['items'] as JsonObject) : {};
  const properties = isJsonObject(items['properties'] ?? null) ? { ...(items['properties'] as JsonObject) } : {};
  for (const key of listKeys) {
    const known = keyDefaults[key];
    if (known !== undefined) properties[key] = { type: 'string', default: known };
  }
  return {
    ...list,
    items: { ...items, properties },
    [listTypeMark]: 'map',
    'x-kubernetes-list-map-keys': [...listKeys],
  };
}

/** A field of which the definition says nothing. No native kind holds itself, so this comes to an end. */
function fieldSchema(facts: FieldFacts): JsonObject {
  const value = isPlainMessage(facts.type) ? withFields({ type: 'object', ...free }, facts.type, true) : free;
  switch (facts.shape) {
    case 'repeated':
      return withListType({ type: 'array', items: value }, facts);
    case 'map':
      return { type: 'object', additionalProperties: value };
    default:
      return value;
  }
}

function* allFields(message: string): Generator<FieldFacts> {
  for (const facts of fieldFactsOf(message)) {
    if (facts.shape === 'inlined') yield* allFields(facts.type);
    else yield facts;
  }
}
