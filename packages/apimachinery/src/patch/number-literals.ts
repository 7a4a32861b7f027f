import { rawJson, setOwn, type Json, type JsonArray, type JsonObject } from '../json/json.ts';
import { encodeJson, parseJsonIncrementally } from '../json/json-codec.ts';
import type { JsonTextDetails } from '../json/json-reader.ts';
import { keepLiteral } from '../json/number-literals.ts';

/**
 * Numbers in a JSON or merge patch whose text is not that of their value (`1.0`, `1e3`). Kubernetes patches texts, so the typed
 * decoder of the result sees the literals: an integer field refuses `1.0`. While a patch is applied, a symbol whose description
 * is the literal replaces such a number; copies keep symbols, and a symbol equals only itself. The result of a strategic merge
 * patch is converted, not decoded: there a literal with a point or an exponent is a float, whatever its value is.
 */
const mayHaveLiterals = /\d[.eE]/;

/** The value of the text of a patch with its literals as symbols; `parsed`, its value, when it has none. Yields while the text is read. */
export function* withLiterals(body: Buffer, parsed: Json): Generator<void, Json> {
  const text = body.toString('latin1');
  if (!mayHaveLiterals.test(text)) return parsed;
  const details: JsonTextDetails = { literals: new Map(), repeats: new Map() };
  yield;
  const { value } = yield* parseJsonIncrementally(body, true, { details });
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
    keepLiteral(literals, container, key, literal);
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

type Container = JsonObject | JsonArray;

function replaceSymbols(
  root: Container,
  replacement: (literal: string, container: Container, key: string) => Json,
): void {
  const pending: Container[] = [root];
  for (let container = pending.pop(); container !== undefined; container = pending.pop()) {
    if (Array.isArray(container)) {
      for (const [index, item] of container.entries()) {
        const value = item as Json | symbol;
        if (typeof value === 'symbol')
          container[index] = replacement(value.description ?? '', container, String(index));
        else if (typeof value === 'object' && value !== null) pending.push(value);
      }
      continue;
    }
    for (const key of Object.keys(container)) {
      const value = container[key] as Json | symbol;
      if (typeof value === 'symbol') setOwn(container, key, replacement(value.description ?? '', container, key));
      else if (typeof value === 'object' && value !== null) pending.push(value);
    }
  }
}
