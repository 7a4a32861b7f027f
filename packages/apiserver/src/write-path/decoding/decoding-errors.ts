import {
  type Json,
  type JsonObject,
  JsonNumberError,
  JsonSyntaxError,
  isJsonObject,
  isStatusError,
  bodyLimits,
  parseApiVersion,
  parseJsonIncrementally,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ExpectedKind } from './expected-kind.ts';
import { UnmarshalError, jsonType } from './object-meta-decoder.ts';
import type { RequestBody } from './request-body.ts';

/*
 * Errors of decoding a body, with the texts of Kubernetes: clients such as kubectl print and parse them.
 */

/** The number of bytes of a body that an error quotes: as text if it looks like JSON, else in hexadecimal. */
const summaryLength = 30;

/** 400 for a body that is not an object of any known kind. */
export function unrecognized(expected: ExpectedKind, why: string, body: Buffer): Error {
  const shown = body.toString(body[0] === 0x7b ? 'utf8' : 'hex', 0, summaryLength);
  const summary = body.length === 0 ? '<empty>' : body.length > summaryLength ? `${shown} ...` : shown;
  return statusErrors.badRequest(
    `the object provided is unrecognized (must be of type ${expected.kind}): ${why} (${summary})`,
  );
}

/** 400 for a body with a syntax error; other errors are returned unchanged. Yields between passes over a large body. */
export function* parseFailure(error: unknown, body: RequestBody, expected: ExpectedKind): Generator<void, unknown> {
  const { bytes, format } = body;
  if (isStatusError(error)) return error;
  if (error instanceof JsonNumberError) return yield* numberFailure(error, body, expected);
  const { message } = error as Error;
  // YAML is converted to JSON before its kind is looked for.
  if (format === 'yaml' && !(error instanceof JsonSyntaxError)) return unrecognized(expected, message, bytes);
  return unrecognized(expected, `couldn't get version/kind; json parse error: ${message}`, bytes);
}

/** The kind is read before the object: from the whole text, which may have a syntax error behind the number. */
function* numberFailure(error: JsonNumberError, body: RequestBody, expected: ExpectedKind): Generator<void, unknown> {
  let value: Json;
  try {
    ({ value } = yield* parseJsonIncrementally(body.bytes, true, {
      details: { literals: new Map(), repeats: new Map() },
      limits: bodyLimits,
    }));
  } catch (syntaxError) {
    return yield* parseFailure(syntaxError, body, expected);
  }
  return statusErrors.badRequest(
    `${cannotBeHandled(isJsonObject(value) ? value : {}, expected)}: ${error.message}`,
    error,
  );
}

/** 400 for an object whose members have the wrong JSON types; other errors are returned unchanged. */
export function shapeFailure(error: unknown, object: JsonObject, expected: ExpectedKind): unknown {
  if (!(error instanceof UnmarshalError)) return error;
  return statusErrors.badRequest(`${cannotBeHandled(object, expected)}: ${error.message}`, error);
}

/** Throws 400 for a document that is neither an object nor null. */
export function checkIsObject(value: Json, body: Buffer, expected: ExpectedKind): void {
  if (value === null || isJsonObject(value)) return;
  throw unrecognized(expected, notAnObject(value), body);
}

/** The reason why a value that is no object has no kind. */
export function notAnObject(value: Json): string {
  return `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value).split(' ')[0]} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
}

/** `ConfigMap in version "v1" cannot be handled as a ConfigMap`. */
export function cannotBeHandled(object: JsonObject, expected: ExpectedKind): string {
  const hasKind = typeof object['kind'] === 'string' && object['kind'] !== '';
  const kind = hasKind ? (object['kind'] as string) : expected.kind;
  const { apiVersion } = object;
  const found = typeof apiVersion === 'string' ? parseApiVersion(apiVersion)?.version : undefined;
  // Custom resources with a kind are not given the expected version.
  const isComplete = expected.origin === 'custom' && (hasKind || apiVersion === null);
  const version = found ?? (isComplete ? '' : expected.version);
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${expected.kind}`;
}

/** The reason in the message of a schema error, without the prefix {@link cannotBeHandled}, which the caller adds itself. */
export function reasonOf(message: string): string {
  const head = ' cannot be handled as a ';
  const at = message.indexOf(head);
  return at < 0 ? message : message.slice(message.indexOf(': ', at) + 2);
}
