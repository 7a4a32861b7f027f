import {
  type Json,
  type JsonObject,
  isJsonObject,
  jsonPathText,
  parseJson,
  skipJsonString,
  skipJsonValue,
} from '@multiplane/apimachinery';
import { topLevelMember } from './metadata-scanner.ts';

const comma = 0x2c;
const openBrace = 0x7b;
const quote = 0x22;

/** The names of a path such as `.spec.class`. */
export const fieldNames = (path: string): string[] => path.split('.').slice(1);

/** Texts of scalars, as field selectors compare them; undefined for anything else, and for the empty text: it is no value. */
export function scalarText(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  return jsonPathText(value) || undefined;
}

/** The value of a field of an object; undefined if the object does not have it. */
export function fieldAt(object: JsonObject, path: string): Json | undefined {
  let place: Json | undefined = object;
  for (const name of fieldNames(path)) {
    if (place === undefined || !isJsonObject(place) || !Object.hasOwn(place, name)) return undefined;
    place = place[name];
  }
  return place;
}

/** {@link scalarText} of a field outside of metadata, scanned from the stored bytes without parsing the object. */
export function scanField(stored: Buffer, path: string): string | undefined {
  const [root = '', ...names] = fieldNames(path);
  let bytes = topLevelMember(stored, root);
  for (const name of names) {
    if (bytes?.[0] !== openBrace) return undefined;
    bytes = memberOf(bytes, name);
  }
  return bytes === undefined || bytes[0] === openBrace ? undefined : scalarText(parseJson(bytes));
}

/** The bytes of a member of an encoded object. */
function memberOf(object: Buffer, name: string): Buffer | undefined {
  let at = 1;
  while (object[at] === quote) {
    const keyEnd = skipJsonString(object, at);
    const valueEnd = skipJsonValue(object, keyEnd + 1);
    if (object.toString('utf8', at + 1, keyEnd - 1) === name) return object.subarray(keyEnd + 1, valueEnd);
    if (object[valueEnd] !== comma) return undefined;
    at = valueEnd + 1;
  }
  return undefined;
}
