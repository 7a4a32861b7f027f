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
  const duplicate = (path: string): string => `duplicate field ${quoted(path)}`;
  const unfamiliar = (path: string): string => `unknown field ${quoted(path)}`;
  if (document === undefined) {
    const told = duplicates.slice(0, maxStrictErrors).map(duplicate);
    return [...told, ...unknown.slice(0, maxStrictErrors - told.length).map(unfamiliar)];
  }
  const [repeated, strange] = [new Set(duplicates), new Set(unknown)];
  const errors: string[] = [];
  for (const path of firstPaths(document, repeated.size === 0 ? strange : repeated.union(strange))) {
    if (repeated.has(path)) errors.push(duplicate(path));
    if (strange.has(path)) errors.push(unfamiliar(path));
  }
  return errors.slice(0, maxStrictErrors);
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

/** Of the wanted paths as many as are told, in the order of the document: a hostile one has hundreds of thousands. */
function firstPaths(document: Json, wanted: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const enough = Math.min(maxStrictErrors, wanted.size);
  const visit = (value: Json, path: string): void => {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length && found.size < enough; index++)
        visit(value[index] as Json, `${path}[${index}]`);
    } else if (isJsonObject(value)) {
      for (const key in value) {
        if (found.size >= enough) return;
        const child = path === '' ? key : `${path}.${key}`;
        if (wanted.has(child)) found.add(child);
        visit(value[key] as Json, child);
      }
    }
  };
  visit(document, '');
  for (const path of wanted) {
    if (found.size >= enough) break;
    found.add(path);
  }
  return found;
}
