import { KeyExistsError, RevisionConflictError, type StorageError } from '../errors.ts';
import type { StorageEvent } from '../interface.ts';
import { type Entry, encodeWrite, type NewRecord, recordBytes } from './record.ts';
import type { Segment } from './segment.ts';
import type { StoreState } from './store-state.ts';

/** A requested write and its callbacks. */
export interface Operation {
  /** `expire` deletes the key if its expiry time is still `expiresAt`. */
  readonly kind: 'create' | 'update' | 'delete' | 'expire';
  readonly key: string;
  readonly value: Buffer;
  readonly expected: number;
  /** The new expiry time; undefined keeps the current one. */
  readonly expiresAt: number | undefined;
  readonly resolve: (revision: number) => void;
  readonly reject: (error: StorageError) => void;
}

interface Outcome {
  readonly operation: Operation;
  readonly error: StorageError | undefined;
  readonly revision: number;
}

/** The state of a key after earlier operations of the same write; revision 0: it does not exist. */
interface KeyState {
  readonly revision: number;
  readonly expiresAt: number | undefined;
}

const absent: KeyState = { revision: 0, expiresAt: undefined };
const nothing = Buffer.alloc(0);

/**
 * One write: decides operations in order against the state and the earlier operations of the write, encodes them, applies
 * them when they are durable, and settles the callers. Refusals are settled last too: they may depend on an earlier
 * operation of the same write.
 */
export class WriteBatch {
  readonly #state: StoreState;
  readonly #keys = new Map<string, KeyState>();
  readonly #records: NewRecord[] = [];
  readonly #outcomes: Outcome[] = [];
  #revision: number;

  constructor(state: StoreState) {
    this.#state = state;
    this.#revision = state.revision;
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /** The revision of the last record. */
  get revision(): number {
    return this.#revision;
  }

  decide(operation: Operation): void {
    const { kind, key, value } = operation;
    const before = this.#keys.get(key) ?? this.#state.index.get(key) ?? absent;
    if (kind === 'expire' && before.expiresAt !== operation.expiresAt) {
      this.#outcomes.push({ operation, error: undefined, revision: before.revision });
      return;
    }
    const error = refusal(operation, before.revision);
    if (error !== undefined) {
      this.#outcomes.push({ operation, error, revision: 0 });
      return;
    }
    const revision = ++this.#revision;
    const removes = kind === 'delete' || kind === 'expire';
    const expiresAt = removes ? undefined : (operation.expiresAt ?? before.expiresAt);
    this.#keys.set(key, removes ? absent : { revision, expiresAt });
    const record = { key, revision, expiresAt };
    this.#records.push(removes ? { ...record, kind: 'delete', value: nothing } : { ...record, kind, value });
    this.#outcomes.push({ operation, error: undefined, revision });
  }

  /** Adds a record that the history up to a revision is compacted. */
  compact(revision: number): void {
    this.#records.push({ kind: 'compact', key: '', value: nothing, revision, expiresAt: undefined });
  }

  encode(write: number, salt: number): Buffer {
    return encodeWrite(this.#records, write, salt);
  }

  /** Applies the durable records at this offset to the state; returns their events. */
  apply(segment: Segment, offset: number): StorageEvent[] {
    const events: StorageEvent[] = [];
    let at = offset;
    for (const record of this.#records) {
      const { kind, key, value, revision, expiresAt } = record;
      const bytes = recordBytes(record);
      if (kind !== 'compact') {
        const entry: Entry = {
          // One copy of the text, however many versions the history references.
          key: this.#state.index.get(key)?.key ?? key,
          kind,
          revision,
          expiresAt,
          bytes,
          segment,
          offset: at,
          dead: false,
        };
        this.#state.apply(entry);
        const removed = kind === 'delete';
        events.push({
          type: removed ? 'delete' : 'put',
          key,
          value: removed ? undefined : value,
          revision,
          created: kind === 'create',
        });
      }
      at += bytes;
    }
    return events;
  }

  settle(): void {
    for (const { operation, error, revision } of this.#outcomes) {
      if (error === undefined) operation.resolve(revision);
      else operation.reject(error);
    }
  }
}

function refusal({ kind, key, expected }: Operation, revision: number): StorageError | undefined {
  if (kind === 'create') return revision === 0 ? undefined : new KeyExistsError(key);
  if (kind === 'expire' || (revision === expected && revision !== 0)) return undefined;
  return new RevisionConflictError(key, expected, revision === 0 ? undefined : revision);
}
