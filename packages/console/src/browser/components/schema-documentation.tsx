import type { ReactElement } from 'react';
import { resolved, typeText, type OpenApiDocument, type OpenApiSchema } from '../model/openapi.ts';

const maxDepth = 12;

/** The fields of a schema with their types and descriptions; what is inside can be unfolded. */
export function SchemaDocumentation({
  document,
  schema,
}: {
  readonly document: OpenApiDocument;
  readonly schema: OpenApiSchema;
}): ReactElement {
  const root = resolved(document, schema);
  return (
    <div className="schema">
      {root.description !== undefined && <p className="schema-about">{root.description}</p>}
      <SchemaFields document={document} schema={root} depth={0} />
    </div>
  );
}

/** Every object has them. */
const common = new Set(['apiVersion', 'kind', 'metadata']);

function SchemaFields({
  document,
  schema,
  depth,
}: {
  readonly document: OpenApiDocument;
  readonly schema: OpenApiSchema;
  readonly depth: number;
}): ReactElement | null {
  const entries = Object.entries(schema.properties ?? {}).filter(([name]) => depth > 0 || !common.has(name));
  if (entries.length === 0 || depth > maxDepth) return null;
  return (
    <ul>
      {entries.map(([name, property]) => {
        const field = resolved(document, property);
        const inner = innerOf(document, field);
        const head = (
          <>
            <code>{name}</code>
            <span className="schema-type">{typeText(document, field)}</span>
            {schema.required?.includes(name) === true && <span className="schema-required">required</span>}
            {field.default !== undefined && (
              <span className="schema-type">default {JSON.stringify(field.default)}</span>
            )}
          </>
        );
        return (
          <li key={name}>
            {inner === undefined ? (
              <div className="schema-head">{head}</div>
            ) : (
              <details open={depth === 0 && name === 'spec'}>
                <summary className="schema-head">{head}</summary>
                {field.description !== undefined && <p>{field.description}</p>}
                <SchemaFields document={document} schema={inner} depth={depth + 1} />
              </details>
            )}
            {inner === undefined && field.description !== undefined && <p>{field.description}</p>}
          </li>
        );
      })}
    </ul>
  );
}

/** The schema of the fields inside: of an object, of the items of a list, of the values of a map. */
function innerOf(document: OpenApiDocument, schema: OpenApiSchema): OpenApiSchema | undefined {
  if (schema.properties !== undefined) return schema;
  const { items, additionalProperties } = schema;
  const inner = items ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  const found = inner === undefined ? undefined : resolved(document, inner);
  return found?.properties === undefined ? undefined : found;
}
