import { type Json, isJsonObject } from '@multiplane/apimachinery';

/** The maximum number of strict decoding errors; as Kubernetes. */
const maxStrictErrors = 100;

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/**
 * The messages of strict decoding for duplicate and unknown fields. The typed decoders of Kubernetes report both in document
 * order (`document`); for custom resources (undefined) all duplicates precede the unknown fields.
 */
export function strictErrors(
  duplicates: readonly string[],
  unknown: readonly string[],
  document: Json | undefined,
): string[] {
  const duplicate = (path: string): string => `duplicate field ${quoted(path)}`;
  const unknownField = (path: string): string => `unknown field ${quoted(path)}`;
  if (document === undefined) {
    const first = duplicates.slice(0, maxStrictErrors).map(duplicate);
    return [...first, ...unknown.slice(0, maxStrictErrors - first.length).map(unknownField)];
  }
  const [repeated, unknownPaths] = [new Set(duplicates), new Set(unknown)];
  const errors: string[] = [];
  for (const path of firstPaths(document, repeated.size === 0 ? unknownPaths : repeated.union(unknownPaths))) {
    if (repeated.has(path)) errors.push(duplicate(path));
    if (unknownPaths.has(path)) errors.push(unknownField(path));
  }
  return errors.slice(0, maxStrictErrors);
}

function quoted(path: string): string {
  return JSON.stringify(path);
}

/** The first wanted paths in document order, up to {@link maxStrictErrors}: a document may have hundreds of thousands. */
function firstPaths(document: Json, wanted: ReadonlySet<string>): Set<string> {
  const found = new Set<string>();
  const limit = Math.min(maxStrictErrors, wanted.size);
  const visit = (value: Json, path: string): void => {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length && found.size < limit; index++)
        visit(value[index] as Json, `${path}[${index}]`);
    } else if (isJsonObject(value)) {
      for (const key in value) {
        if (found.size >= limit) return;
        const child = path === '' ? key : `${path}.${key}`;
        if (wanted.has(child)) found.add(child);
        visit(value[key] as Json, child);
      }
    }
  };
  visit(document, '');
  for (const path of wanted) {
    if (found.size >= limit) break;
    found.add(path);
  }
  return found;
}
