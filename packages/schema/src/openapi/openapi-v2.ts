import { isJsonObject, setOwn, type Json, type JsonObject } from '@multiplane/apimachinery';
import { parameterName } from './parameter-name.ts';

/**
 * The OpenAPI v2 document of a server, from the v3 documents of its group versions. Version 2 knows less:
 * alternatives, `nullable` and untyped fields go, and with them whatever a v2 client would judge wrongly.
 */
export function buildOpenAPIv2(documents: readonly JsonObject[], version: string): JsonObject {
  const paths: JsonObject = {};
  const definitions: JsonObject = {};
  for (const document of documents) {
    const components = document['components'];
    const schemas = isJsonObject(components) && isJsonObject(components['schemas']) ? components['schemas'] : {};
    for (const name of Object.keys(schemas)) definitions[name] ??= kindOf(schemas[name] as JsonObject);
    const v3Paths = document['paths'];
    if (!isJsonObject(v3Paths)) continue;
    for (const path of Object.keys(v3Paths)) paths[path] ??= convertPath(v3Paths[path] as JsonObject);
  }
  return {
    swagger: '2.0',
    info: { title: 'Multiplane', version },
    paths,
    definitions,
    securityDefinitions: {
      BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

const dropped = new Set(['oneOf', 'anyOf', 'not', 'nullable', 'default']);
const preserveUnknown = 'x-kubernetes-preserve-unknown-fields';
const below = ['items', 'properties', 'additionalProperties'];

/**
 * A whole kind. One that takes any field says nothing but that: clients refuse what is not among the properties, as soon as
 * there are some.
 */
function kindOf(schema: JsonObject): JsonObject {
  const ofKind = Object.entries(schema).filter(([key]) =>
    /^x-kubernetes-(?:group-version-kind|selectable-fields)$/.test(key),
  );
  return schema[preserveUnknown] === true ? { type: 'object', ...Object.fromEntries(ofKind) } : downgrade(schema);
}

/** A v3 schema as version 2 can say it. */
function downgrade(schema: JsonObject): JsonObject {
  const reference = referenceOf(schema);
  if (reference !== undefined) {
    const description = schema['description'];
    return {
      ...(description === undefined ? {} : { description }),
      $ref: reference.replace('#/components/schemas/', '#/definitions/'),
      ...patchExtensions(schema),
    };
  }
  const preserve = schema[preserveUnknown] === true;
  const untyped = schema['nullable'] === true || schema['x-kubernetes-int-or-string'] === true || preserve;
  const result: JsonObject = {};
  for (const key of Object.keys(schema)) {
    const value = schema[key] as Json;
    if (dropped.has(key) || key === 'allOf') continue;
    // A client would refuse null, the other type or unknown fields where a type is given, or fields.
    if (untyped && (key === 'type' || below.includes(key) || (preserve && key === 'required'))) continue;
    if (key === 'properties' && isJsonObject(value)) result[key] = downgradeAll(value);
    else if ((key === 'items' || key === 'additionalProperties') && isJsonObject(value)) result[key] = downgrade(value);
    else if (key === 'required' && Array.isArray(value)) addRequired(value, schema, result);
    else result[key] = value;
  }
  // Version 2 knows one type: a Quantity, which may be a number, is written as a string.
  const alternatives = schema['oneOf'];
  if (!untyped && result['type'] === undefined && Array.isArray(alternatives) && alternatives.some(isString))
    result['type'] = 'string';
  // kubectl reads nothing of a document in which an array has no items.
  if (result['type'] === 'array' && result['items'] === undefined) delete result['type'];
  return result;
}

const isString = (schema: Json): boolean => isJsonObject(schema) && schema['type'] === 'string';

/** Without those that may be null: a client would take null for missing. */
function addRequired(names: readonly Json[], { properties }: JsonObject, result: JsonObject): void {
  const required = names.filter((name) => {
    const property = isObject(properties) && typeof name === 'string' ? properties[name] : undefined;
    return !isObject(property) || property['nullable'] !== true;
  });
  if (required.length > 0) result['required'] = required;
}

const isObject = (value: Json | undefined): value is JsonObject => value !== undefined && isJsonObject(value);

function downgradeAll(schemas: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const name of Object.keys(schemas)) {
    setOwn(result, name, downgrade(schemas[name] as JsonObject));
  }
  return result;
}

function referenceOf(schema: JsonObject): string | undefined {
  if (typeof schema['$ref'] === 'string') return schema['$ref'];
  const all = schema['allOf'];
  if (!Array.isArray(all) || all.length !== 1 || !isJsonObject(all[0])) return undefined;
  return typeof all[0]['$ref'] === 'string' ? all[0]['$ref'] : undefined;
}

function patchExtensions(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key of ['x-kubernetes-patch-strategy', 'x-kubernetes-patch-merge-key']) {
    if (schema[key] !== undefined) result[key] = schema[key];
  }
  return result;
}

function convertPath(item: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(item)) {
    const value = item[key];
    if (key === 'parameters' && Array.isArray(value)) result[key] = value.map(convertParameter);
    else if (isJsonObject(value)) result[key] = convertOperation(value);
  }
  return result;
}

function convertParameter(parameter: Json): Json {
  if (!isJsonObject(parameter)) return parameter;
  const { schema, ...rest } = parameter;
  return { ...rest, ...(isJsonObject(schema) ? schema : {}) };
}

function convertOperation(operation: JsonObject): JsonObject {
  const { requestBody, responses, parameters, ...rest } = operation;
  const result: JsonObject = { ...rest };
  const v2Parameters = Array.isArray(parameters) ? parameters.map(convertParameter) : [];
  if (isJsonObject(requestBody)) {
    const [types, schema] = contentOf(requestBody);
    result['consumes'] =
      operation['x-kubernetes-action'] === 'patch' ? patchOrder.filter((type) => types.includes(type)) : types;
    v2Parameters.push({
      in: 'body',
      name: 'body',
      ...(requestBody['required'] === true ? { required: true } : {}),
      schema,
    });
  }
  if (v2Parameters.length > 0)
    result['parameters'] = v2Parameters.sort((a, b) => (parameterName(a) < parameterName(b) ? -1 : 1));
  const v2Responses: JsonObject = {};
  if (isJsonObject(responses)) {
    for (const code of Object.keys(responses)) {
      const response = responses[code];
      if (!isJsonObject(response)) continue;
      const description = response['description'] ?? '';
      if (response['content'] === undefined) {
        v2Responses[code] = { description };
        continue;
      }
      const [types, schema] = contentOf(response);
      result['produces'] = types;
      v2Responses[code] = { description, schema };
    }
  }
  result['responses'] = v2Responses;
  const consumed = result['consumes'] ?? consumedWithoutBody(result);
  if (consumed !== undefined) result['consumes'] = consumed;
  result['schemes'] = ['https'];
  return result;
}

/** Routes of kube-apiserver say what they consume whether they have a body or not, but for those of token issuers. */
function consumedWithoutBody({ produces, ...operation }: JsonObject): Json | undefined {
  const types = Array.isArray(produces) ? produces : [];
  if (operation['x-kubernetes-action'] !== undefined)
    return types.includes('application/vnd.kubernetes.protobuf') ? ['*/*'] : ['application/json', 'application/yaml'];
  const tags = operation['tags'];
  return Array.isArray(tags) && tags.some((tag) => tag === 'WellKnown' || tag === 'openid') ? undefined : [...types];
}

/** The order in which kube-apiserver registers the types of patches. */
const patchOrder = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml'].map(
  (type) => `application/${type}`,
);

function contentOf(holder: JsonObject): readonly [string[], JsonObject] {
  const content = holder['content'];
  if (!isJsonObject(content)) return [[], {}];
  const types = Object.keys(content);
  const first = content[types[0] ?? ''];
  const schema = isJsonObject(first) && isJsonObject(first['schema']) ? first['schema'] : {};
  return [types, downgrade(schema)];
}
