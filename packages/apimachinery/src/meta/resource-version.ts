import { quote } from '../go/go-quote.ts';
import { StrconvError, parseUint64 } from '../go/strconv.ts';

/** A resource version in a request's options that is no number: `resourceVersion: Invalid value: "x": strconv.ParseUint: …`. */
export class ResourceVersionError extends Error {
  override readonly name = 'ResourceVersionError';
}

/**
 * The revision that an option names; `""` and `"0"` are 0. Throws {@link ResourceVersionError}: lists answer
 * 400 with `invalid resource version: ` before its text, GET and WATCH an untyped 500 (GET of an event as lists).
 */
export function parseResourceVersion(text: string): number {
  if (text === '' || text === '0') return 0;
  try {
    return parseUint64(text);
  } catch (error) {
    if (!(error instanceof StrconvError)) throw error;
    throw new ResourceVersionError(`resourceVersion: Invalid value: ${quote(text)}: ${error.message}`, {
      cause: error,
    });
  }
}

/** The revision of an object; 0 when it has none. Throws a StrconvError, whose text an update answers with. */
export function objectRevision(resourceVersion: string | undefined): number {
  return resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0'
    ? 0
    : parseUint64(resourceVersion);
}
