import {
  encodeJsonIncrementally,
  parseJsonIncrementally,
  skipJsonString,
  skipJsonValue,
  type Json,
} from '@multiplane/apimachinery';
import { runInTimeSlices } from '@multiplane/component-base';

/** Objects of at least this size are recorded as text, so that no step of the event loop parses or encodes all of one. */
export const largeObjectBytes = 64 * 1024;

/** A large object of an audit event: JSON without line breaks. */
export class EncodedObject {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const quote = 0x22;
const colon = 0x3a;
const closingBrace = 0x7d;

/** Encodes an object in time slices of a logical cluster. */
export async function encodeLarge(object: Json, lane: string | undefined): Promise<EncodedObject> {
  return new EncodedObject(await runInTimeSlices(encodeJsonIncrementally(object), lane));
}

/** The text of JSON from a client, checked in time slices; undefined if it is not JSON. */
export async function checkLarge(body: Buffer, lane: string | undefined): Promise<EncodedObject | undefined> {
  try {
    await runInTimeSlices(parseJsonIncrementally(body, false), lane);
  } catch {
    return undefined;
  }
  // Strings contain no line breaks.
  return new EncodedObject(body.toString('utf8').replaceAll(/[\r\n]/g, ' '));
}

/**
 * A large object of a response; `accepts` is called with its kind. Undefined if it is not accepted or not JSON. What the server
 * writes without whitespace is recorded as it is.
 */
export async function encodedResponse(
  body: Buffer,
  options: {
    readonly accepts: (kind: string) => boolean;
    readonly omitsManagedFields: boolean;
    readonly lane: string | undefined;
  },
): Promise<EncodedObject | undefined> {
  const { accepts, omitsManagedFields, lane } = options;
  try {
    const compact = memberOf(body, 1, 'kind');
    // Indented text is written again.
    const bytes = compact === undefined ? Buffer.from((await reencoded(body, lane)).text) : body;
    const kind = compact ?? memberOf(bytes, 1, 'kind');
    if (kind !== undefined && !accepts(bytes.toString('utf8', kind.start + 1, kind.end - 1))) return undefined;
    const managed = omitsManagedFields ? managedFields(bytes) : undefined;
    const text = (part: Buffer): string => part.toString('utf8').replaceAll(/[\r\n]/g, ' ');
    if (managed === undefined) return new EncodedObject(text(bytes));
    return new EncodedObject(text(bytes.subarray(0, managed.start)) + text(bytes.subarray(managed.end)));
  } catch {
    // Not JSON, although it begins with a brace.
    return undefined;
  }
}

async function reencoded(body: Buffer, lane: string | undefined): Promise<EncodedObject> {
  const { value } = await runInTimeSlices(parseJsonIncrementally(body, false), lane);
  return encodeLarge(value, lane);
}

/** The member `metadata.managedFields` with one of the commas around it. */
function managedFields(body: Buffer): { readonly start: number; readonly end: number } | undefined {
  const metadata = memberOf(body, 1, 'metadata');
  const managed = metadata === undefined ? undefined : memberOf(body, metadata.start + 1, 'managedFields');
  if (managed === undefined) return undefined;
  const isLast = body[managed.end] === closingBrace;
  return {
    start: managed.key - (isLast && body[managed.key - 1] === 0x2c ? 1 : 0),
    end: managed.end + (isLast ? 0 : 1),
  };
}

/** Positions of a member among those that begin at `at`: of its key, and of its value with the position after it. */
function memberOf(
  body: Buffer,
  at: number,
  name: string,
): { readonly key: number; readonly start: number; readonly end: number } | undefined {
  for (let key = at; body[key] === quote;) {
    const keyEnd = skipJsonString(body, key);
    if (body[keyEnd] !== colon) return undefined;
    const end = skipJsonValue(body, keyEnd + 1);
    if (body.toString('latin1', key + 1, keyEnd - 1) === name) return { key, start: keyEnd + 1, end };
    key = end + 1;
  }
  return undefined;
}
