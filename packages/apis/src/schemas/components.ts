import { deepFreeze, isJsonObject, type JsonObject } from '@multiplane/apimachinery';
import { builtInSchemaTexts } from './built-in-schemas.data.ts';
import { descriptions } from './descriptions.data.ts';

/** Where `$ref`s of built-in schemas point. */
export const componentPrefix = '#/components/schemas/';

const parsed = new Map<string, JsonObject>();

/** Names of all schema components of built-in kinds, sorted. */
export const componentNames: readonly string[] = Object.keys(builtInSchemaTexts);

/** One schema component; parsed once, frozen. Undefined for a name that no built-in kind reaches. */
export function component(name: string): JsonObject | undefined {
  const known = parsed.get(name);
  if (known !== undefined) return known;
  if (!Object.hasOwn(builtInSchemaTexts, name)) return undefined;
  const schema = JSON.parse(builtInSchemaTexts[name] as string) as JsonObject;
  describe(name, schema);
  deepFreeze(schema);
  parsed.set(name, schema);
  return schema;
}

/** The component behind a `$ref`. */
export function resolveComponent(ref: string): JsonObject | undefined {
  return ref.startsWith(componentPrefix) ? component(ref.slice(componentPrefix.length)) : undefined;
}

/** The name of the component that a schema refers to, directly or through a single `allOf`. */
export function referredComponent(schema: JsonObject): string | undefined {
  const all = schema['allOf'];
  const source = Array.isArray(all) && all.length === 1 && isJsonObject(all[0]) ? all[0] : schema;
  const ref = source['$ref'];
  return typeof ref === 'string' && ref.startsWith(componentPrefix) ? ref.slice(componentPrefix.length) : undefined;
}

function describe(name: string, schema: JsonObject): void {
  const texts = Object.hasOwn(descriptions, name) ? descriptions[name] : undefined;
  if (texts?.[''] !== undefined) schema['description'] = texts[''];
  const properties = schema['properties'];
  if (!isJsonObject(properties)) return;
  for (const [field, property] of Object.entries(properties)) {
    const text = texts?.[field] ?? commonFields[field];
    if (text !== undefined && isJsonObject(property)) property['description'] = text;
  }
}

const commonFields: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version of the schema of this object.',
  kind: 'Kind of this object.',
  metadata: 'Standard metadata of the object.',
  spec: 'The wanted state.',
  status: 'The observed state; written by the system.',
};
