import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import type { StorageEvent } from '../interface.ts';
import type { StoredMessage } from './stream-client.ts';

/** Headers with the state of a key, so that the body is only the value. */
const createRevisionHeader = 'Multiplane-Born';
const tombstoneHeader = 'Multiplane-Removed';
/** The body is the deflated value. */
const deflatedHeader = 'Multiplane-Deflated';
/** Limit of an inflated value. */
const maxValueBytes = 16 << 20;

/** The state of a key according to a message. */
export interface StreamRecord {
  /** The message is a tombstone: it deleted the key and has no value. */
  readonly removed: boolean;
  /** Sequence of the message that created the key; of a tombstone: its own. */
  readonly createRevision: number;
}

/** Headers of a write; `createRevision` 0: the write creates the key. */
export function recordHeaders({ removed, createRevision }: StreamRecord): Record<string, string> {
  if (removed) return { [tombstoneHeader]: '1' };
  return createRevision === 0 ? {} : { [createRevisionHeader]: String(createRevision) };
}

export function recordOf(message: Pick<StoredMessage, 'header' | 'sequence'>): StreamRecord {
  if (message.header(tombstoneHeader) !== '') return { removed: true, createRevision: message.sequence };
  const createRevision = message.header(createRevisionHeader);
  return { removed: false, createRevision: createRevision === '' ? message.sequence : Number(createRevision) };
}

/** The body of a value, deflated when it is over the limit; undefined when it still does not fit. */
export async function bodyOf(
  value: Buffer,
  limit: number,
): Promise<{ readonly data: Buffer; readonly headers: Record<string, string> } | undefined> {
  if (value.length <= limit) return { data: value, headers: {} };
  const data = await promisify(deflateRaw)(value);
  return data.length <= limit ? { data, headers: { [deflatedHeader]: '1' } } : undefined;
}

export function valueOf({ header, data }: Pick<StoredMessage, 'header' | 'data'>): Buffer {
  return header(deflatedHeader) === '' ? data : inflateRawSync(data, { maxOutputLength: maxValueBytes });
}

/** The change of a message. */
export function eventOf(key: string, message: StoredMessage): StorageEvent {
  const { sequence: revision } = message;
  const { removed, createRevision } = recordOf(message);
  if (removed) return { type: 'delete', key, value: undefined, revision, created: false };
  return { type: 'put', key, value: valueOf(message), revision, created: createRevision === revision, createRevision };
}
