import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import { hoverTooltip } from '@codemirror/view';
import { resolved, schemaAt, typeText, type OpenApiDocument, type OpenApiSchema } from '../model/openapi.ts';
import { yamlPlaceAt } from '../model/yaml-path.ts';

export interface EditedSchema {
  readonly document: OpenApiDocument;
  readonly schema: OpenApiSchema;
}

/** Completes fields and values, and explains the field below the pointer. */
export function schemaSupport(edited: EditedSchema): Extension {
  return [
    autocompletion({ override: [(context) => complete(edited, context)], icons: false }),
    hoverTooltip((view, position) => {
      const line = view.state.doc.lineAt(position);
      const key = /^[\s-]*([\w.$/-]+):/.exec(line.text);
      if (key?.[1] === undefined) return null;
      const from = line.from + line.text.indexOf(key[1]);
      const to = from + key[1].length;
      if (position < from || position > to) return null;
      const { path } = yamlPlaceAt(view.state.doc.toString(), from);
      const found = schemaAt(edited.document, edited.schema, [...path, key[1]]);
      if (found === undefined) return null;
      return { pos: from, end: to, above: true, create: () => ({ dom: explain(edited, found) }) };
    }),
  ];
}

/** What a field is, as text nodes: descriptions come from tenants. */
function explain({ document: openApi }: EditedSchema, schema: OpenApiSchema): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'cm-schema-hover';
  const type = document.createElement('div');
  type.className = 'cm-schema-type';
  type.textContent = typeText(openApi, schema);
  const text = document.createElement('div');
  text.textContent = schema.description ?? 'The schema says nothing about this field.';
  dom.append(type, text);
  return dom;
}

function complete(edited: EditedSchema, context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\w.$/-]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const { path, isKey, siblings } = yamlPlaceAt(context.state.doc.toString(), context.pos);
  const found = schemaAt(edited.document, edited.schema, path);
  if (found === undefined) return null;
  const options = isKey ? keys(edited, found, siblings) : values(found);
  return options.length === 0 ? null : { from: word.from, options, validFor: /^[\w.$/-]*$/ };
}

function keys(
  { document: openApi }: EditedSchema,
  schema: OpenApiSchema,
  present: readonly string[],
): readonly Completion[] {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => !present.includes(name))
    .map(([name, property]) => {
      const field = resolved(openApi, property);
      const isRequired = schema.required?.includes(name) === true;
      return {
        label: name,
        detail: isRequired ? `${typeText(openApi, field)}, required` : typeText(openApi, field),
        apply: field.type === 'object' || field.type === 'array' ? `${name}:` : `${name}: `,
        boost: isRequired ? 1 : 0,
        ...(field.description === undefined ? {} : { info: field.description }),
      };
    });
}

const values = ({ type, enum: allowed }: OpenApiSchema): readonly Completion[] =>
  allowed !== undefined
    ? allowed.map((value) => ({ label: String(value) }))
    : type === 'boolean'
      ? [{ label: 'true' }, { label: 'false' }]
      : [];
