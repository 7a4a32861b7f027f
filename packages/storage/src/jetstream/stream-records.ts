import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import type { StorageEvent } from '../interface.ts';
import type { StoredMessage } from './stream-client.ts';

/** What a message says of its key, in headers, so that the body is the value and nothing else. */
const bornHeader = 'Multiplane-Born';
const removedHeader = 'Multiplane-Removed';
/** The body is the value, deflated. */
const deflatedHeader = 'Multiplane-Deflated';
/** No value is larger than this, whatever a body says. */
const longestValue = 16 << 20;

/** A message as the state of a key. */
export interface StreamRecord {
  /** The body is no value: the key was removed by this message. */
  readonly removed: boolean;
  /** The sequence of the message that made the key; of a removal: its own. */
  readonly born: number;
}

/** Headers of a write; `born` 0: the write makes the key. */
export function recordHeaders({ removed, born }: StreamRecord): Record<string, string> {
  if (removed) return { [removedHeader]: '1' };
  return born === 0 ? {} : { [bornHeader]: String(born) };
}

export function recordOf(message: Pick<StoredMessage, 'header' | 'sequence'>): StreamRecord {
  if (message.header(removedHeader) !== '') return { removed: true, born: message.sequence };
  const born = message.header(bornHeader);
  return { removed: false, born: born === '' ? message.sequence : Number(born) };
}

/** A value as a body, deflated when it is larger than messages may be; undefined: it does not fit. */
export async function bodyOf(
  value: Buffer,
  limit: number,
): Promise<{ readonly data: Buffer; readonly headers: Record<string, string> } | undefined> {
  if (value.length <= limit) return { data: value, headers: {} };
  const data = await promisify(deflateRaw)(value);
  return data.length <= limit ? { data, headers: { [deflatedHeader]: '1' } } : undefined;
}

export function valueOf({ header, data }: Pick<StoredMessage, 'header' | 'data'>): Buffer {
  return header(deflatedHeader) === '' ? data : inflateRawSync(data, { maxOutputLength: longestValue });
}

/** The change that a message is. */
export function eventOf(key: string, message: StoredMessage): StorageEvent {
  const { sequence: revision } = message;
  const { removed, born } = recordOf(message);
  if (removed) return { type: 'delete', key, value: undefined, revision, created: false };
  return { type: 'put', key, value: valueOf(message), revision, created: born === revision, born };
}
