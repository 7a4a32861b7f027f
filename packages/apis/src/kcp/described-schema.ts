import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { commonDescriptions, kindDescriptions } from './kind-descriptions.data.ts';

/**
 * The schema of a kind with the texts of `kubectl explain`. Only served schemas have them: the schemas that the exports of
 * root store are named by their content, so a better text there would be a new schema for the binding of each workspace.
 * Texts of the schema itself take precedence.
 */
export function describedSchema(kind: string, schema: JsonObject): JsonObject {
  const texts = Object.hasOwn(kindDescriptions, kind) ? (kindDescriptions[kind] ?? {}) : {};
  const described = withDescriptions(schema, '', texts);
  const text = texts[''];
  return described['description'] !== undefined || text === undefined ? described : { ...described, description: text };
}

function withDescriptions(schema: JsonObject, path: string, texts: Readonly<Record<string, string>>): JsonObject {
  const result: JsonObject = { ...schema };
  for (const inner of ['items', 'additionalProperties']) {
    const value = schema[inner];
    if (isJsonObject(value ?? null)) result[inner] = withDescriptions(value as JsonObject, path, texts);
  }
  const { properties } = schema;
  if (isJsonObject(properties ?? null)) {
    result['properties'] = Object.fromEntries(
      Object.entries(properties as JsonObject).map(([name, field]): [string, Json] => {
        const below = path === '' ? name : `${path}.${name}`;
        if (!isJsonObject(field)) return [name, field];
        const described = withDescriptions(field, below, texts);
        const text = described['description'] === undefined ? textOf(below, texts) : undefined;
        return [name, text === undefined ? described : { ...described, description: text }];
      }),
    );
  }
  return result;
}

function textOf(path: string, texts: Readonly<Record<string, string>>): string | undefined {
  if (Object.hasOwn(texts, path)) return texts[path];
  const segments = path.split('.');
  for (let from = 0; from < segments.length; from++) {
    const end = segments.slice(from).join('.');
    // `apiVersion`, `kind`, `metadata` and `status` are texts of the object itself, not of fields of that name.
    if (from > 0 && rootFields.has(end)) continue;
    if (Object.hasOwn(commonDescriptions, end)) return commonDescriptions[end];
  }
  return undefined;
}

const rootFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);
