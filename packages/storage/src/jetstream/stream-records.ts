import type { StorageEvent } from '../interface.ts';
import type { StoredMessage } from './stream-client.ts';

/** What a message says of its key, in headers, so that the body is the value and nothing else. */
const bornHeader = 'Multiplane-Born';
const removedHeader = 'Multiplane-Removed';

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

/** The change that a message is. */
export function eventOf(key: string, message: StoredMessage): StorageEvent {
  const { sequence: revision, data } = message;
  const { removed, born } = recordOf(message);
  if (removed) return { type: 'delete', key, value: undefined, revision, created: false };
  return { type: 'put', key, value: data, revision, created: born === revision, born };
}
