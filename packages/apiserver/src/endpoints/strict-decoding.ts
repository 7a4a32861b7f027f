import { type Json, isJsonObject } from '@multiplane/apimachinery';

/** At most this many errors of strict decoding are collected (K1.7). */
const maxStrictErrors = 100;

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/**
 * Texts of strict decoding for unknown fields and duplicates. A typed decoder meets both as it reads, so they stand in
 * the order of the document; for custom resources all duplicates come first (K5.5).
 */
export function strictErrors(
  duplicates: readonly string[],
  unknown: readonly string[],
  document: Json | undefined,
): string[] {
  const errors = [
    ...duplicates.map((path) => ({ path, text: `duplicate field ${quoted(path)}` })),
    ...unknown.map((path) => ({ path, text: `unknown field ${quoted(path)}` })),
  ];
  if (document !== undefined && errors.length > 1) {
    const order = pathOrder(document, new Set(errors.map((error) => error.path)));
    errors.sort((a, b) => (order.get(a.path) ?? 0) - (order.get(b.path) ?? 0));
  }
  return errors.slice(0, maxStrictErrors).map((error) => error.text);
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

/** Position of each wanted path in a walk over the document. */
function pathOrder(document: Json, wanted: ReadonlySet<string>): Map<string, number> {
  const order = new Map<string, number>();
  let position = 0;
  const visit = (value: Json, path: string): void => {
    if (order.size === wanted.size) return;
    if (Array.isArray(value)) {
      value.forEach((item, index) => visit(item, `${path}[${index}]`));
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        const child = path === '' ? key : `${path}.${key}`;
        position++;
        if (wanted.has(child)) order.set(child, position);
        visit(value[key] as Json, child);
      }
    }
  };
  visit(document, '');
  return order;
}
