import { JsonPath, JsonPathError, type Json } from '@multiplane/apimachinery';
import { textAt } from '../fields.ts';

/** A printer column or a selectable field whose JSONPath can be parsed. */
export interface ReadablePath {
  readonly source: Json;
  readonly path: JsonPath;
}

/** One whose JSONPath cannot be parsed. */
export interface UnreadablePath {
  readonly source: Json;
  readonly text: string;
  readonly cause: string;
}

/**
 * Reads the `jsonPath` of printer columns or selectable fields. Validation of definitions accepts paths that cannot be parsed, as in
 * Kubernetes, where such a column ends the table and such a field fails all requests of the resource. Here each entry only affects
 * itself: it is left out.
 */
export function readJsonPaths(sources: readonly Json[]): {
  readonly readable: readonly ReadablePath[];
  readonly unreadable: readonly UnreadablePath[];
} {
  const readable: ReadablePath[] = [];
  const unreadable: UnreadablePath[] = [];
  for (const source of sources) {
    const text = textAt(source, 'jsonPath');
    try {
      readable.push({ source, path: new JsonPath(text) });
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      unreadable.push({ source, text, cause: error.message });
    }
  }
  return { readable, unreadable };
}
