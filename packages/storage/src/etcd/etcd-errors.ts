import { errorText } from '@multiplane/apimachinery';
import {
  CompactedError,
  FutureRevisionError,
  type StorageError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from '../errors.ts';

/**
 * What an error of a call means. etcd3 turns gRPC's statuses into classes by their texts, and loses the number on the
 * way, but the text keeps it: `14 UNAVAILABLE: …`.
 */
export type Failure =
  /** etcd has answered that nothing was done; the error says what. */
  | { readonly kind: 'refused'; readonly error: StorageError }
  /**
   * etcd has answered that it has no room, and does nothing more about the request. A write may have been carried out all
   * the same: the one during which room ran out is (etcd-io/etcd#16659).
   */
  | { readonly kind: 'full'; readonly error: StorageError }
  /** The request has not left this process. */
  | { readonly kind: 'unsent' }
  /** The lease of a write is gone; nothing was done. */
  | { readonly kind: 'lease-gone' }
  /** The request may have been carried out, or may still be. */
  | { readonly kind: 'unknown' };

const noRoomText = 'database space exceeded';
const refusals: readonly (readonly [text: string, error: (key: string, cause: unknown) => StorageError])[] = [
  ['request is too large', (key) => new ValueTooLargeError(key)],
  ['message larger than max', (key) => new ValueTooLargeError(key)],
  ['too many requests', (_key, cause) => new StorageUnavailableError('etcd has too many requests waiting', cause)],
  ['not capable', (_key, cause) => new StorageUnavailableError('etcd lacks a capability', cause)],
  ['permission denied', (_key, cause) => new StorageUnavailableError('etcd denies access', cause)],
  ['corrupt cluster', (_key, cause) => new StorageUnavailableError('etcd has found itself corrupt', cause)],
];

/** grpc-js says this of calls that never got a connection. */
const unsentTexts = ['No connection established', 'Name resolution failed', 'Channel closed before call started'];

export function classify(error: unknown, key: string): Failure {
  const text = errorText(error);
  for (const [part, make] of refusals) if (text.includes(part)) return { kind: 'refused', error: make(key, error) };
  if (text.includes(noRoomText)) return { kind: 'full', error: new StorageFullError(error) };
  if (text.includes('requested lease not found')) return { kind: 'lease-gone' };
  if (unsentTexts.some((part) => text.includes(part))) return { kind: 'unsent' };
  return { kind: 'unknown' };
}

const compactedText = 'required revision has been compacted';
const futureText = 'required revision is a future revision';

/** True when a revision is gone or not there yet. */
export function isRevisionError(error: unknown): boolean {
  const text = errorText(error);
  return text.includes(compactedText) || text.includes(futureText);
}

/** The error of a revision as a StorageError; undefined when it is something else. */
export function revisionError(
  error: unknown,
  wanted: number,
  oldest: number,
  current: number,
): StorageError | undefined {
  if (!isRevisionError(error)) return undefined;
  return errorText(error).includes(compactedText)
    ? new CompactedError(wanted, oldest)
    : new FutureRevisionError(wanted, current);
}

/** True when trying a read again may help. */
export function isTransient(error: unknown): boolean {
  const text = errorText(error);
  return transientStatus.test(text) && !text.includes(noRoomText);
}

// CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE; and what etcd says while it looks for a leader.
const transientStatus = /(^|\s)(1|2|4|10|13|14) [A-Z_]+:|leader|timed out|UNAVAILABLE|Connection/;
