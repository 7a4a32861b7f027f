import { resolved, type OpenApiDocument, type OpenApiSchema } from './openapi.ts';

/** A field of a form for objects of a schema. */
export interface FormField {
  /** Where it belongs in the object; its text is the key of its value. */
  readonly path: readonly string[];
  readonly kind: 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'list' | 'map';
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  readonly description: string | undefined;
  readonly initial: string;
}

const maxDepth = 3;
const maxFields = 40;
/** What the server, or the form itself, fills in. */
const left = new Set(['apiVersion', 'kind', 'metadata', 'status']);

export const fieldKey = ({ path }: Pick<FormField, 'path'>): string => path.join('.');

/** The path in words: `spec.storage.sizeGiB` is `Storage size GiB`. */
export function fieldTitle({ path }: Pick<FormField, 'path'>): string {
  const words = (path[0] === 'spec' && path.length > 1 ? path.slice(1) : path)
    .map((name) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2'))
    .join(' ')
    .split(' ')
    .map((word) => (/^[A-Z][a-z]/.test(word) ? word.toLowerCase() : word));
  const text = words.join(' ');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** The fields that a form can show: single values, lists and maps of texts. What is deeper is for YAML. Required ones come first. */
export function formFields(document: OpenApiDocument, root: OpenApiSchema): readonly FormField[] {
  const fields: FormField[] = [];
  const visit = (schema: OpenApiSchema, path: readonly string[], isRequired: boolean): void => {
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (path.length === 0 && left.has(name)) continue;
      const field = resolved(document, property);
      const own = isRequired && schema.required?.includes(name) === true;
      const here = [...path, name];
      const kind = kindOf(document, field);
      if (kind !== undefined)
        fields.push({
          path: here,
          kind,
          choices: (field.enum ?? []).map(String),
          isRequired: own,
          description: field.description,
          initial: initialOf(field.default),
        });
      else if (here.length < maxDepth)
        // The spec itself is always there; in it a part that may be absent has no required fields.
        visit(field, here, here.length === 1 || own);
    }
  };
  visit(resolved(document, root), [], true);
  return fields.sort((a, b) => Number(b.isRequired) - Number(a.isRequired)).slice(0, maxFields);
}

const initialOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

function kindOf(document: OpenApiDocument, schema: OpenApiSchema): FormField['kind'] | undefined {
  const { type, enum: values, items, additionalProperties } = schema;
  if (values !== undefined) return 'choice';
  if (schema['x-kubernetes-int-or-string'] === true) return 'text';
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number' || type === 'boolean') return type;
  const inner = type === 'array' ? items : typeof additionalProperties === 'object' ? additionalProperties : undefined;
  if (inner === undefined || resolved(document, inner).type !== 'string') return undefined;
  return type === 'array' ? 'list' : 'map';
}

export interface FormResult {
  readonly object: Readonly<Record<string, unknown>>;
  /** What is wrong, by field. */
  readonly problems: ReadonlyMap<string, string>;
}

/** The object that a form describes; fields that are empty are left out. */
export function objectOfForm(
  base: Readonly<Record<string, unknown>>,
  fields: readonly FormField[],
  values: ReadonlyMap<string, string>,
): FormResult {
  const object = structuredClone(base) as Record<string, unknown>;
  const problems = new Map<string, string>();
  for (const field of fields) {
    const key = fieldKey(field);
    const text = values.get(key) ?? field.initial;
    if (text === '') {
      if (field.isRequired) problems.set(key, 'is required');
      continue;
    }
    const value = valueOf(field, text);
    if (value instanceof Error) problems.set(key, value.message);
    else setAt(object, field.path, value);
  }
  return { object, problems };
}

function valueOf({ kind }: FormField, text: string): unknown {
  switch (kind) {
    case 'text':
    case 'choice':
      return text;
    case 'boolean':
      return text === 'true';
    case 'integer':
    case 'number': {
      const value = Number(text);
      if (text.trim() === '' || !Number.isFinite(value)) return new Error('is not a number');
      return kind === 'integer' && !Number.isInteger(value) ? new Error('is not a whole number') : value;
    }
    case 'list':
      return linesOf(text);
    case 'map': {
      const entries = linesOf(text).map((line) => {
        const at = line.indexOf('=');
        return at < 1 ? undefined : ([line.slice(0, at).trim(), line.slice(at + 1)] as const);
      });
      return entries.includes(undefined)
        ? new Error('takes one name=value per line')
        : Object.fromEntries(entries.filter((entry) => entry !== undefined));
    }
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

function setAt(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let target = object;
  for (const part of path.slice(0, -1)) target = (target[part] ??= {}) as Record<string, unknown>;
  target[path.at(-1) ?? ''] = value;
}
