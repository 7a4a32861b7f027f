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
  const texts = new Map<string, string[]>();
  const note = (path: string, text: string): void => {
    const noted = texts.get(path);
    if (noted === undefined) texts.set(path, [text]);
    else noted.push(text);
  };
  for (const path of duplicates) note(path, `duplicate field ${quoted(path)}`);
  for (const path of unknown) note(path, `unknown field ${quoted(path)}`);
  const inOrder = document === undefined || texts.size < 2 ? texts.keys() : firstPaths(document, texts);
  const errors: string[] = [];
  for (const path of inOrder) errors.push(...(texts.get(path) as string[]));
  return errors.slice(0, maxStrictErrors);
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

/** Of the wanted paths as many as are told, in the order of the document: a hostile one has hundreds of thousands. */
function firstPaths(document: Json, wanted: ReadonlyMap<string, unknown>): Set<string> {
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
  for (const path of wanted.keys()) {
    if (found.size >= enough) break;
    found.add(path);
  }
  return found;
}
