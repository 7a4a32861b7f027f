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
 * The meaning of an error of a request. etcd3 converts gRPC statuses to classes by their messages and drops the status
 * number, but the message still contains it: `14 UNAVAILABLE: …`.
 */
export type Failure =
  /** etcd responded that nothing was carried out; the error has the reason. */
  | { readonly kind: 'refused'; readonly error: StorageError }
  /**
   * etcd responded that its space quota is exceeded. The write may have been carried out all the same: the write that
   * exceeds the quota is (etcd-io/etcd#16659).
   */
  | { readonly kind: 'full'; readonly error: StorageError }
  /** The request was not sent. */
  | { readonly kind: 'unsent' }
  /** The lease of a write does not exist; nothing was carried out. */
  | { readonly kind: 'lease-expired' }
  /** The request may have been carried out, or may still be. */
  | { readonly kind: 'unknown' };

const noRoomText = 'database space exceeded';
const refusals: readonly (readonly [text: string, error: (key: string, cause: unknown) => StorageError])[] = [
  ['request is too large', (key) => new ValueTooLargeError(key)],
  ['message larger than max', (key) => new ValueTooLargeError(key)],
  ['too many requests', (_key, cause) => new StorageUnavailableError('etcd has too many requests', cause)],
  ['not capable', (_key, cause) => new StorageUnavailableError('etcd lacks a capability', cause)],
  ['permission denied', (_key, cause) => new StorageUnavailableError('etcd denied access', cause)],
  ['corrupt cluster', (_key, cause) => new StorageUnavailableError('etcd reports a corrupt cluster', cause)],
];

/** Messages of the transport and of grpc-js for requests that never got a connection. */
const unsentTexts = ['No connection established', 'Name resolution failed', 'Channel closed before call started'];

export function classify(error: unknown, key: string): Failure {
  const text = errorText(error);
  for (const [part, make] of refusals) if (text.includes(part)) return { kind: 'refused', error: make(key, error) };
  if (text.includes(noRoomText)) return { kind: 'full', error: new StorageFullError(error) };
  if (text.includes('requested lease not found')) return { kind: 'lease-expired' };
  if (unsentTexts.some((part) => text.includes(part))) return { kind: 'unsent' };
  return { kind: 'unknown' };
}

const compactedText = 'required revision has been compacted';
const futureText = 'required revision is a future revision';

/** True when a revision is compacted or not reached yet. */
export function isRevisionError(error: unknown): boolean {
  const text = errorText(error);
  return text.includes(compactedText) || text.includes(futureText);
}

/** The error of a revision as a StorageError; undefined for other errors. */
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

/** True when a read may succeed on retry. */
export function isTransient(error: unknown): boolean {
  const text = errorText(error);
  return transientStatus.test(text) && !text.includes(noRoomText);
}

// CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE, and the messages of etcd without a leader.
const transientStatus = /(^|\s)(1|2|4|10|13|14) [A-Z_]+:|leader|timed out|UNAVAILABLE|Connection/;
