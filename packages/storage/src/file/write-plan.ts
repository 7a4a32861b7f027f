import { KeyExistsError, RevisionConflictError, type StorageError } from '../errors.ts';
import type { StorageEvent } from '../interface.ts';
import { encodeLogRecord, type LogKind } from './log-record.ts';
import { empty, expiresOf, packVersion, revisionOf, type Tables } from './tables.ts';

/** What somebody wants done, and whom to tell. */
export interface Operation {
  /** `expire` removes the key if it still goes at exactly `at`. */
  readonly kind: LogKind | 'expire';
  readonly key: string;
  readonly value: Buffer;
  readonly expected: number;
  /** When the key shall go; undefined leaves that as it is. */
  readonly at: number | undefined;
  readonly resolve: (revision: number) => void;
  readonly reject: (error: StorageError) => void;
}

/** A key as it is in the file, or as an earlier operation of the same batch leaves it. */
interface KeyState {
  /** 0: there is no such key. */
  readonly revision: number;
  readonly value: Buffer;
  readonly expiresAt: number | undefined;
}

interface Change {
  readonly kind: LogKind;
  readonly key: string;
  readonly revision: number;
  readonly before: KeyState;
  readonly after: KeyState;
}

interface Outcome {
  readonly operation: Operation;
  readonly error: StorageError | undefined;
  readonly revision: number;
}

const absent: KeyState = { revision: 0, value: empty, expiresAt: undefined };

/**
 * One batch: decides operations in order against the file and what the batch has decided before, then writes all of them
 * into one transaction, and settles them when that is on disk. Nothing is told to anybody before, not even a refusal: it
 * may rest on a change of the same batch.
 */
export class WritePlan {
  readonly #tables: Tables;
  readonly #states = new Map<string, KeyState>();
  readonly #changes: Change[] = [];
  readonly #outcomes: Outcome[] = [];
  #revision: number;

  constructor(tables: Tables, revision: number) {
    this.#tables = tables;
    this.#revision = revision;
  }

  /** The revision of the store after the batch. */
  get revision(): number {
    return this.#revision;
  }

  decide(operation: Operation): void {
    const { kind, key, expected, at } = operation;
    const before = this.#state(key);
    let error: StorageError | undefined;
    if (kind === 'create') {
      if (before.revision !== 0) error = new KeyExistsError(key);
    } else if (kind === 'expire') {
      if (before.expiresAt !== at) {
        this.#outcomes.push({ operation, error: undefined, revision: before.revision });
        return;
      }
    } else if (before.revision !== expected || before.revision === 0) {
      error = new RevisionConflictError(key, expected, before.revision === 0 ? undefined : before.revision);
    }
    if (error !== undefined) {
      this.#outcomes.push({ operation, error, revision: 0 });
      return;
    }
    const revision = ++this.#revision;
    const removes = kind === 'delete' || kind === 'expire';
    const after = removes ? absent : { revision, value: operation.value, expiresAt: at ?? before.expiresAt };
    this.#states.set(key, after);
    this.#changes.push({ kind: kind === 'expire' ? 'delete' : kind, key, revision, before, after });
    this.#outcomes.push({ operation, error: undefined, revision });
  }

  /** Call inside a batch of lmdb. */
  write(): void {
    const { current, versions, log, meta } = this.#tables;
    for (const change of this.#changes) {
      const { kind, key, revision, before, after } = change;
      if (before.revision !== 0) void versions.put({ key, revision: before.revision }, before.value, revision);
      if (kind === 'delete') void current.remove(key);
      else void current.put(key, after.value, packVersion(revision, after.expiresAt !== undefined));
      if (before.expiresAt !== after.expiresAt) this.#writeExpiry(change);
      void log.put(revision, encodeLogRecord({ kind, previous: before.revision, key }));
    }
    if (this.#changes.length > 0) void meta.put('revision', empty, this.#revision);
  }

  events(): StorageEvent[] {
    return this.#changes.map(({ kind, key, revision, before, after }) => ({
      type: kind === 'delete' ? 'delete' : 'put',
      key,
      value: kind === 'delete' ? before.value : after.value,
      revision,
      created: kind === 'create',
    }));
  }

  /** The batch is on disk. */
  settle(): void {
    for (const { operation, error, revision } of this.#outcomes) {
      if (error === undefined) operation.resolve(revision);
      else operation.reject(error);
    }
  }

  #writeExpiry({ key, before, after }: Change): void {
    const { leases, expiry } = this.#tables;
    if (before.expiresAt !== undefined) void expiry.remove({ at: before.expiresAt, key });
    if (after.expiresAt === undefined) void leases.remove(key);
    else {
      const time = Buffer.allocUnsafe(8);
      time.writeDoubleBE(after.expiresAt);
      void leases.put(key, time);
      void expiry.put({ at: after.expiresAt, key }, empty);
    }
  }

  #state(key: string): KeyState {
    const decided = this.#states.get(key);
    if (decided !== undefined) return decided;
    const entry = this.#tables.current.getEntry(key);
    if (entry === undefined) return absent;
    const expiresAt = expiresOf(entry.version) ? this.#tables.leases.get(key)?.readDoubleBE() : undefined;
    return { revision: revisionOf(entry.version), value: entry.value, expiresAt };
  }
}
