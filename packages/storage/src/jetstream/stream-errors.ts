import type { NatsError } from 'nats';
import { errorText } from '@multiplane/apimachinery';
import { type StorageError, StorageFullError, StorageUnavailableError, ValueTooLargeError } from '../errors.ts';

const wrongLastSequence = 10071;
const streamNotFound = 10059;
/** Of a consumer: its filter matches no subject of the stream. */
const notOfTheStream = 10093;
const messageTooLarge = 10054;
/** No space left: in the account, in the stream, on the disk of the server. */
const full = new Set([10023, 10028, 10047, 10002, 10077]);

/** The meaning of an error of a write. */
export type WriteFailure =
  /** The subject has another last sequence. */
  | { readonly kind: 'conflict'; readonly current: number }
  /** NATS responded that nothing was carried out; the error has the reason. */
  | { readonly kind: 'refused'; readonly error: StorageError }
  /** No stream has the subject, so nothing was carried out; creating the stream may help. */
  | { readonly kind: 'no-stream' }
  /** The write may have been carried out, or may still be. */
  | { readonly kind: 'unknown' };

export function classifyWrite(error: unknown, key: string): WriteFailure {
  const { code, api_error: api } = error as Partial<NatsError>;
  if (api?.err_code === wrongLastSequence)
    return { kind: 'conflict', current: Number(/\d+$/.exec(api.description)?.[0] ?? 0) };
  if (code === 'MAX_PAYLOAD_EXCEEDED' || api?.err_code === messageTooLarge)
    return { kind: 'refused', error: new ValueTooLargeError(key) };
  if (api !== undefined && full.has(api.err_code ?? 0)) return { kind: 'refused', error: new StorageFullError(error) };
  if (code === '503' && api === undefined) return { kind: 'no-stream' };
  if (api?.err_code === streamNotFound) return { kind: 'no-stream' };
  if (api !== undefined && api.code < 500)
    return {
      kind: 'refused',
      error: new StorageUnavailableError(`NATS refused the write: ${errorText(error)}`, error),
    };
  return { kind: 'unknown' };
}

/** The stream does not exist, or does not have its subjects yet. */
export function isStreamMissing(error: unknown): boolean {
  const code = (error as Partial<NatsError>).api_error?.err_code;
  return code === streamNotFound || code === notOfTheStream;
}

const transientCodes = new Set(['TIMEOUT', '503', 'DISCONNECT', 'CONNECTION_REFUSED', 'CONNECTION_TIMEOUT']);

/** True when a read may succeed on retry: no server responded, or it is not ready. */
export function isTransient(error: unknown): boolean {
  const { code, api_error: api } = error as Partial<NatsError>;
  if (api !== undefined) return api.code >= 500 && api.err_code !== 10057;
  return code !== undefined && transientCodes.has(code);
}
