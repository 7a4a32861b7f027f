import {
  type Json,
  type JsonObject,
  type PathElement,
  type TypedSchema,
  displayPath,
  fieldElement,
  fieldSchema,
  formOf,
  isJsonObject,
  itemElement,
} from '@multiplane/apimachinery';

/** Paths at which a configuration sets atomic lists or maps. Throws ListItemError for a list item without its keys. */
export function atomicPaths(config: JsonObject, schema: TypedSchema): string[] {
  const found: string[] = [];
  visit(config, schema, [], found);
  return found;
}

function visit(value: Json, schema: TypedSchema, path: readonly PathElement[], found: string[]): void {
  if (value === null) return;
  switch (formOf(schema, value)) {
    case 'map': {
      const { map } = schema;
      if (map === undefined || !isJsonObject(value)) return;
      if (map.atomic && path.length > 0) {
        found.push(displayPath(path));
        return;
      }
      for (const [name, item] of Object.entries(value))
        visit(item, fieldSchema(map, name), [...path, fieldElement(name)], found);
      return;
    }
    case 'list': {
      const { list } = schema;
      if (list === undefined || !Array.isArray(value)) return;
      if (list.atomic) {
        found.push(displayPath(path));
        return;
      }
      for (const item of value) visit(item, list.element, [...path, itemElement(list, item)], found);
      return;
    }
    case 'scalar':
    case 'none':
  }
}
