import { getOwn, isJsonObject, type JsonObject } from '@multiplane/apimachinery';
import { listOf, namedSchemasOf, objectOf, schemasOf, stringOf } from './schema-document.ts';

const items = "OpenAPIV3Schema 'items' must be a schema, but is an array";

/**
 * Why a schema cannot even be read as a structural one, such as a keyword that is not supported; undefined: it can
 * (apiextensions `NewStructural`).
 */
export function structuralProblem(schema: JsonObject): string | undefined {
  return (
    unsupported(schema) ??
    rulesProblem(schema) ??
    preserveProblem(schema) ??
    (Array.isArray(getOwn(schema, 'items')) && listOf(schema, 'items').length > 0 ? items : undefined) ??
    first([...below(schema)])
  );
}

function rulesProblem(schema: JsonObject): string | undefined {
  const not = objectOf(schema, 'not');
  const nested = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => schemasOf(schema, keyword));
  return first(not === undefined ? nested : [not, ...nested]);
}

function* below(schema: JsonObject): Generator<JsonObject> {
  const item = objectOf(schema, 'items');
  if (item !== undefined) yield item;
  for (const [, property] of namedSchemasOf(schema, 'properties')) yield property;
  const additional = objectOf(schema, 'additionalProperties');
  if (additional !== undefined) yield additional;
}

function first(schemas: readonly JsonObject[]): string | undefined {
  for (const schema of schemas) {
    const found = structuralProblem(schema);
    if (found !== undefined) return found;
  }
  return undefined;
}

const preserveProblem = (schema: JsonObject): string | undefined =>
  getOwn(schema, 'x-kubernetes-preserve-unknown-fields') === false
    ? "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    : undefined;

function unsupported(schema: JsonObject): string | undefined {
  const isFilled = (keyword: string): boolean => {
    const value = getOwn(schema, keyword);
    return isJsonObject(value) && Object.keys(value).length > 0;
  };
  const additional = getOwn(schema, 'additionalItems');
  const found =
    (stringOf(schema, 'id') === '' ? undefined : 'id') ??
    (stringOf(schema, '$schema') === '' ? undefined : 'schema') ??
    (stringOf(schema, '$ref') === '' ? undefined : '$ref') ??
    ['patternProperties', 'dependencies'].find(isFilled) ??
    (additional === undefined || additional === null ? undefined : 'additionalItems') ??
    ['definitions'].find(isFilled);
  return found === undefined ? undefined : `OpenAPIV3Schema '${found}' is not supported`;
}
