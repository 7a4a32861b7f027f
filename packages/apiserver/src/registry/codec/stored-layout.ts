import { statusErrors } from '@multiplane/apimachinery';

/*
 * The layout of a stored object:
 *
 *   {"kind":"K","apiVersion":"g/v","metadata":{"name":"n","namespace":"ns","uid":"u","creationTimestamp":"…",…},…}
 *                                  ^ item offset                                   ^ revision offset
 *
 * The stored bytes do not contain the revision: only the store knows it, and only after the write. It is inserted into the
 * bytes when they are sent. Three invariants allow that without parsing:
 *  - kind and apiVersion come first, then metadata, in this order;
 *  - in metadata only strings precede the uid, and the uid is always present;
 *  - another member always follows the uid (creationTimestamp is always set), so the inserted text can end with a comma.
 */

const uidMark = Buffer.from('"uid":"');
const apiVersionMark = Buffer.from('"apiVersion":"');
const quoteCode = 0x22;
const dash = 0x2d;
const uuidLength = 36;

/** The offset at which `"resourceVersion":"…",` is inserted. */
export function revisionOffset(stored: Buffer): number {
  const mark = stored.indexOf(uidMark);
  const start = mark + uidMark.length;
  const end = mark < 0 ? -1 : isUuid(stored, start) ? start + uuidLength : stored.indexOf(quoteCode, start);
  if (end < 0) throw unreadable(stored, 'uid');
  return end + 2;
}

/** Uids created by this server are UUIDs, so their end needs no search. */
function isUuid(stored: Buffer, at: number): boolean {
  return (
    stored[at + 8] === dash &&
    stored[at + 13] === dash &&
    stored[at + 18] === dash &&
    stored[at + 23] === dash &&
    stored[at + uuidLength] === quoteCode
  );
}

/** The offset of the members after kind and apiVersion (`"metadata":…`), where items of typed lists start. */
export function itemOffset(stored: Buffer): number {
  const mark = stored.indexOf(apiVersionMark);
  const end = mark < 0 ? -1 : stored.indexOf(quoteCode, mark + apiVersionMark.length);
  if (end < 0) throw unreadable(stored, 'apiVersion');
  return end + 2;
}

/** True for a value that the store could not decrypt; JSON never starts like it. */
export const isUndecryptable = (stored: Buffer): boolean => stored.toString('latin1', 0, 8) === 'k8s:enc:';

/** A value that the store could not decrypt arrives here as it is stored (storage/src/encryption/encrypted-storage.ts). */
export function unreadable(stored: Buffer, part: string, key?: string): Error {
  const what = key === undefined ? 'an object' : `key ${JSON.stringify(key)}`;
  return isUndecryptable(stored)
    ? statusErrors.internal(new Error(`unable to transform ${what}: it cannot be decrypted`))
    : new TypeError(`stored bytes contain no ${part}`);
}

const kindMark = Buffer.from('"kind":"');

/** kind, apiVersion and uid, without parsing the object. */
export function identityOf(stored: Buffer): {
  readonly kind: string;
  readonly apiVersion: string;
  readonly uid: string;
} {
  return {
    kind: textAfter(stored, kindMark),
    apiVersion: textAfter(stored, apiVersionMark),
    uid: textAfter(stored, uidMark),
  };
}

/** The JSON string after a mark; none of these strings contains an escape sequence. */
function textAfter(stored: Buffer, mark: Buffer): string {
  const start = stored.indexOf(mark) + mark.length;
  return stored.toString('latin1', start, stored.indexOf(quoteCode, start));
}

/** The text that is inserted at {@link revisionOffset}. */
export function revisionText(revision: number): string {
  return `"resourceVersion":"${revision}",`;
}

/** The stored bytes with their revision, in one buffer. */
export function withRevision(stored: Buffer, revision: number): Buffer {
  return spliced(stored, revision, '', '');
}

/** {@link withRevision} with ASCII text around it (`{"type":"ADDED","object":` … `}\n`), in one allocation. */
export function spliced(stored: Buffer, revision: number, before: string, after: string): Buffer {
  const offset = revisionOffset(stored);
  const text = revisionText(revision);
  const result = Buffer.allocUnsafe(before.length + stored.length + text.length + after.length);
  let at = result.write(before, 0, 'latin1');
  at += stored.copy(result, at, 0, offset);
  at += result.write(text, at, 'latin1');
  at += stored.copy(result, at, offset);
  result.write(after, at, 'latin1');
  return result;
}
