import type { Operation } from './operation.ts';

/** What one watch has received, in order, over all its reconnections. */
export type Received =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly key: string;
      readonly revision: number;
      readonly value: string;
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number }
  /** The watch starts with the state at this revision: at first, and after 410 Expired. */
  | { readonly type: 'LIST'; readonly revision: number; readonly objects: ReadonlyMap<string, string> };

/**
 * Checks what etcd promises for watches (and Kubernetes on top of it) against the history of writes:
 *
 *   ordered     revisions increase strictly: nothing twice, nothing from before the start
 *   bookmarks   are never ahead of an event that follows
 *   reliable    every acknowledged write between the first and the last revision of the watch was received, unless a later
 *               LIST covers it
 *   true        every event is a write that some client sent, with the revision of the response to its client
 *   kinds       ADDED follows absence, MODIFIED and DELETED presence
 */
export function checkWatch(received: readonly Received[], operations: readonly Operation[]): string[] {
  const problems: string[] = [];
  const sent = new Map<string, Operation>();
  for (const operation of operations) if ('value' in operation.action) sent.set(operation.action.value, operation);
  const seen = new Set<number>();
  let present = new Map<string, string>();
  let last = 0;
  /** Revisions up to this one are covered by a list. */
  let covered = 0;
  for (const event of received) {
    const at = `${event.type} at ${event.revision}`;
    if (event.type === 'LIST') {
      if (event.revision < last) problems.push(`${at} goes back behind ${last}`);
      present = new Map(event.objects);
      covered = last = event.revision;
      continue;
    }
    if (event.type === 'BOOKMARK' ? event.revision < last : event.revision <= last)
      problems.push(`${at} follows revision ${last}`);
    last = Math.max(last, event.revision);
    if (event.type === 'BOOKMARK') continue;
    const { key, value, type, revision } = event;
    seen.add(revision);
    if (type === 'ADDED' ? present.has(key) : !present.has(key))
      problems.push(`${at} of ${key}, which is ${present.has(key) ? 'present' : 'absent'}`);
    if (type === 'DELETED') {
      present.delete(key);
      continue;
    }
    present.set(key, value);
    const write = sent.get(value);
    if (write === undefined) problems.push(`${at} of ${key} has a value that no client wrote: ${value}`);
    else {
      const { outcome } = write.action;
      if (typeof outcome === 'object' && outcome.revision !== revision)
        problems.push(`${at} of ${key}: its writer was told revision ${outcome.revision}`);
      if (typeof outcome === 'string' && outcome !== 'unknown')
        problems.push(`${at} of ${key}: its writer was told ${outcome}`);
    }
  }
  for (const { action, key } of operations) {
    if (action.kind === 'read' || typeof action.outcome === 'string') continue;
    const { revision } = action.outcome;
    if (revision > covered && revision <= last && !seen.has(revision))
      problems.push(`the ${action.kind} of ${key} at revision ${revision} was not received`);
  }
  return problems;
}
