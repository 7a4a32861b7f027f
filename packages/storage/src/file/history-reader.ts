import type { StorageEvent } from '../interface.ts';
import { decodeLogRecord } from './log-record.ts';
import { revisionOf, type Tables } from './tables.ts';

/**
 * At most `limit` events after a revision, up to `last`, from the file. One turn of the event loop, so one state of the
 * file; the caller has checked that the history reaches back so far.
 */
export function readEvents(tables: Tables, after: number, last: number, limit: number): StorageEvent[] {
  const events: StorageEvent[] = [];
  for (const { key: revision, value: bytes } of tables.log.getRange({ start: after + 1, end: last + 1, limit })) {
    const { kind, previous, key } = decodeLogRecord(bytes);
    events.push({
      type: kind === 'delete' ? 'delete' : 'put',
      key,
      value: kind === 'delete' ? tables.versions.get({ key, revision: previous }) : valueAt(tables, key, revision),
      revision,
      created: kind === 'create',
    });
  }
  return events;
}

/** What a revision wrote: still there, or replaced and kept. */
function valueAt(tables: Tables, key: string, revision: number): Buffer {
  const current = tables.current.getEntry(key);
  const value =
    current !== undefined && revisionOf(current.version) === revision
      ? current.value
      : tables.versions.get({ key, revision });
  if (value === undefined) throw new Error(`the history of ${key} lacks revision ${revision}`);
  return value;
}
