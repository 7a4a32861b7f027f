import {
  type Json,
  type JsonObject,
  type PathElement,
  type TypedSchema,
  displayPath,
  fieldElement,
  isJsonObject,
} from '@multiplane/apimachinery';

/**
 * Paths at which a configuration sets atomic lists or maps, those within others too. Only declared fields are looked at: what
 * a kind preserves without a schema is atomic everywhere, and may be set.
 */
export function atomicPaths(config: JsonObject, schema: TypedSchema): string[] {
  const found: string[] = [];
  visit(config, schema, [], found);
  return found;
}

function visit(value: Json, { list, map }: TypedSchema, path: readonly PathElement[], found: string[]): void {
  if (map !== undefined && isJsonObject(value)) {
    if (map.atomic) found.push(displayPath(path));
    for (const [name, item] of Object.entries(value)) {
      const field = map.fields.get(name);
      if (field !== undefined) visit(item, field, [...path, fieldElement(name)], found);
    }
  }
  if (list !== undefined && Array.isArray(value)) {
    if (list.atomic) found.push(displayPath(path));
    for (const [index, item] of value.entries()) visit(item, list.element, [...path, indexElement(index)], found);
  }
}

const indexElement = (index: number): PathElement => `i:${index}`;
