import { isJsonObject, rawJson, setOwn, type Json, type JsonArray, type JsonObject } from '../json/json.ts';
import { encodeJson, parseJsonStrict } from '../json/json-codec.ts';
import type { JsonTextDetails } from '../json/json-reader.ts';

/**
 * Numbers in a JSON or merge patch whose text is not that of their value (`1.0`, `1e3`). Kubernetes patches texts, so the typed
 * decoder of the result sees the literals: an integer field refuses `1.0`. While a patch is applied, a symbol whose description
 * is the literal replaces such a number; copies keep symbols, and a symbol equals only itself. The result of a strategic merge
 * patch is converted, not decoded: there a literal with a point or an exponent is a float, whatever its value is.
 */
const mayHaveLiterals = /\d[.eE]/;

/** The value of the text of a patch with its literals as symbols; `parsed`, its value, when it has none. */
export function withLiterals(body: Buffer, parsed: Json): Json {
  const text = body.toString('latin1');
  if (!mayHaveLiterals.test(text)) return parsed;
  const details: JsonTextDetails = { literals: new Map(), repeats: new Map() };
  const { value } = parseJsonStrict(body, { details });
  let marked = 0;
  for (const [container, literals] of details.literals) {
    for (const [key, literal] of literals) {
      if (encodeJson((container as JsonObject)[key]) === literal) continue;
      setOwn(container as JsonObject, key, Symbol(literal) as unknown as Json);
      marked++;
    }
  }
  return marked === 0 ? parsed : value;
}

/** Puts the numbers in the place of symbols. Returns what the typed decoder needs to know of their texts. */
export function takeLiterals(document: JsonObject): JsonTextDetails {
  const literals: JsonTextDetails['literals'] = new Map();
  replaceSymbols(document, (literal, container, key) => {
    const known = literals.get(container);
    if (known === undefined) literals.set(container, new Map([[key, literal]]));
    else known.set(key, literal);
    const value = Number(literal);
    return Number.isFinite(value) ? value : 0;
  });
  return { literals, repeats: new Map() };
}

/** Makes symbols values that are encoded as the literals. In place; the value cannot be read any more. */
export function printableLiterals(value: Json): Json {
  if (typeof value === 'symbol') return rawJson((value as symbol).description ?? '');
  if (typeof value === 'object' && value !== null) replaceSymbols(value, rawJson);
  return value;
}

function replaceSymbols(
  container: JsonObject | JsonArray,
  replacement: (literal: string, container: JsonObject | JsonArray, key: string) => Json,
): void {
  for (const key of Object.keys(container)) {
    const value = (container as JsonObject)[key] as Json | symbol;
    if (typeof value === 'symbol')
      setOwn(container as JsonObject, key, replacement(value.description ?? '', container, key));
    else if (isJsonObject(value) || Array.isArray(value)) replaceSymbols(value, replacement);
  }
}
