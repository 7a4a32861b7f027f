import type { ErrorObject } from 'ajv';

/** A document may be wrong everywhere; the first problems are enough to mend it. */
const maxProblems = 10;

/**
 * The errors of a JSON Schema validation as texts in the form of Kubernetes' field errors: path and expected form. Values
 * are not shown, since a configuration may hold secrets; only a value outside of an enumeration is.
 */
export function schemaProblems(errors: readonly ErrorObject[], document: unknown): string[] {
  const texts = [...new Set(errors.map((error) => problemOf(error, document)))];
  const more = texts.length - maxProblems;
  return more > 0 ? [...texts.slice(0, maxProblems), `and ${more} more`] : texts;
}

function problemOf(error: ErrorObject, document: unknown): string {
  const { keyword, data, parentSchema } = error;
  const params = error.params as Readonly<Record<string, unknown>>;
  const tokens = tokensOf(error.instancePath);
  const path = fieldPath(tokens, document);
  const at = path === '' ? '' : `${path}: `;
  const expected = (parentSchema as { readonly description?: string } | undefined)?.description;
  switch (keyword) {
    case 'required':
      return `${fieldPath([...tokens, String(params['missingProperty'])], document)}: Required value`;
    case 'additionalProperties':
      return `strict decoding error: unknown field ${JSON.stringify(fieldPath([...tokens, String(params['additionalProperty'])], document))}`;
    case 'enum':
    case 'const': {
      const allowed = (keyword === 'enum' ? params['allowedValues'] : [params['allowedValue']]) as readonly unknown[];
      const supported = allowed.map((value) => JSON.stringify(value)).join(', ');
      return `${at}Unsupported value: ${JSON.stringify(data)}: supported values: ${supported}`;
    }
    case 'type':
      return `${at}must be ${expected ?? `of type ${String(params['type'])}`}, got ${typeOf(data)}`;
    default:
      return `${at}${expected === undefined ? error.message : `must be ${expected}`}`;
  }
}

/** The segments of a JSON pointer (RFC 6901). */
const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** `rules[0].resources`, as Kubernetes writes paths of fields; empty for the document itself. */
function fieldPath(tokens: readonly string[], document: unknown): string {
  let path = '';
  let value = document;
  for (const token of tokens) {
    if (Array.isArray(value)) path += `[${token}]`;
    else path += path === '' ? token : `.${token}`;
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[token] : undefined;
  }
  return path;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
