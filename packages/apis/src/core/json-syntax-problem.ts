import { isJsonObject } from '@multiplane/apimachinery';

/** Why a text is no JSON object, with the text of Go's decoder as far as V8 reports the position; undefined when it is one. */
export function jsonSyntaxProblem(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const token = /Unexpected (?:non-whitespace character after JSON|token '(.)')/su.exec((error as Error).message);
    if (token === null) return 'unexpected end of JSON input';
    return token[1] === undefined
      ? "invalid character ' ' after top-level value"
      : `invalid character '${token[1]}' looking for beginning of value`;
  }
  if (value === null || isJsonObject(value)) return undefined;
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
}
