import { getOwn, isJsonObject, type JsonObject } from '@multiplane/apimachinery';
import { objectOf } from './schema-document.ts';

export interface ResolvedFieldPath {
  /** The path in one spelling: `.a.b`, keys of maps as `[k]`. */
  readonly path: string;
  /** Its first field. */
  readonly root: string;
  /** The schema of the place it leads to. */
  readonly schema: JsonObject;
}

/**
 * Follows a path such as `.spec.a` or `.spec['a-b']` through a schema. Answers with what is wrong when it leads to no
 * field; `brackets: false` allows dots only (selectable fields).
 */
export function resolveFieldPath(
  path: string,
  schema: JsonObject,
  options: { brackets: boolean },
): ResolvedFieldPath | string {
  const tokens = tokenize(path);
  const names: string[] = [];
  let text = '';
  let place = schema;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    let name: string;
    if (token === '[') {
      if (!options.brackets) return 'array notation is not allowed';
      const quoted = tokens[++index];
      if (quoted === undefined) return 'unexpected end of JSON path';
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'"))
        return `expected single quoted string but got ${quoted}`;
      name = quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1');
      const close = tokens[++index];
      if (close !== ']') return close === undefined ? 'unexpected end of JSON path' : `expected ] but got ${close}`;
    } else if (token === '.') {
      const next = tokens[++index];
      if (next === undefined) return 'unexpected end of JSON path';
      name = next;
    } else {
      return `expected [ or . but got: ${token}`;
    }
    const properties = objectOf(place, 'properties') ?? {};
    const additional = getOwn(place, 'additionalProperties') ?? null;
    if (Object.keys(properties).length > 0) {
      const property = objectOf(properties, name);
      if (property === undefined) return 'does not refer to a valid field';
      place = property;
      text += `.${name}`;
    } else if (additional !== null) {
      // A map takes any key, in either spelling. Nothing is known of the values where they have no schema.
      place = isJsonObject(additional) ? additional : {};
      text += `[${name}]`;
    } else {
      return 'does not refer to a valid field';
    }
    names.push(name);
  }
  return { path: text, root: names[0] ?? '', schema: place };
}

/** Dots and brackets are tokens, and so is what stands between them; a quoted text is one token. */
function tokenize(path: string): string[] {
  const tokens: string[] = [];
  let start = 0;
  while (start < path.length) {
    const first = path[start] as string;
    let end = start + 1;
    if (first === "'") {
      while (end < path.length && !(path[end] === "'" && path[end - 1] !== '\\')) end++;
      end = Math.min(end + 1, path.length);
    } else if (!'.[]'.includes(first)) {
      while (end < path.length && !'.[]'.includes(path[end] as string)) end++;
    }
    tokens.push(path.slice(start, end));
    start = end;
  }
  return tokens;
}
