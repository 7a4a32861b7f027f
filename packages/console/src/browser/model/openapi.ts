/** A schema of an OpenAPI v3 document, as far as the console reads it. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

export interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> };
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The schema of a kind in the document of its group and version. */
export function schemaOfKind(
  { components }: OpenApiDocument,
  { group, version, kind }: Kind,
): OpenApiSchema | undefined {
  return Object.values(components?.schemas ?? {}).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (own) => own.group === group && own.version === version && own.kind === kind,
    ),
  );
}

/** Follows references. What stands beside one, such as a description of the field, wins over what it leads to. */
export function resolved(document: OpenApiDocument, schema: OpenApiSchema): OpenApiSchema {
  let current = schema;
  // Schemas of tenants may lead to themselves.
  for (let depth = 0; depth < 16; depth++) {
    const { $ref, allOf, ...own } = current;
    const next =
      $ref === undefined ? allOf?.[0] : document.components?.schemas?.[$ref.slice($ref.lastIndexOf('/') + 1)];
    if (next === undefined) return own;
    current = { ...next, ...own };
  }
  return {};
}

/** The schema of what is at `path`: names of fields, and indices of lists as digits. */
export function schemaAt(
  document: OpenApiDocument,
  root: OpenApiSchema,
  path: readonly string[],
): OpenApiSchema | undefined {
  let schema = resolved(document, root);
  for (const part of path) {
    const { properties, items, additionalProperties } = schema;
    const next =
      properties?.[part] ??
      (/^\d+$/.test(part) ? items : undefined) ??
      (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    if (next === undefined) return undefined;
    schema = resolved(document, next);
  }
  return schema;
}

/** What a field takes, in a word or two: `string`, `list of integer`, `map of string`, `one of A, B`. */
export function typeText(document: OpenApiDocument, schema: OpenApiSchema): string {
  const { type, format, enum: values, items, additionalProperties } = schema;
  if (values !== undefined) return `one of ${values.map(String).join(', ')}`;
  if (schema['x-kubernetes-int-or-string'] === true || format === 'int-or-string') return 'integer or string';
  if (type === 'array')
    return items === undefined ? 'list' : `list of ${typeText(document, resolved(document, items))}`;
  if (type === 'object' && typeof additionalProperties === 'object')
    return `map of ${typeText(document, resolved(document, additionalProperties))}`;
  return format === 'date-time' ? 'time' : (type ?? 'any value');
}
