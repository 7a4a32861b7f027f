import { OutcomeUnknownError, type StorageError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import type { StorageEvent } from '../interface.ts';
import { commitError } from './commit-error.ts';
import type { DataFile } from './data-file.ts';
import type { RoomGuard } from './room-guard.ts';
import { empty, readMeta } from './tables.ts';
import { type Operation, WritePlan } from './write-plan.ts';

export interface CommitterOptions {
  readonly file: DataFile;
  readonly room: RoomGuard;
  readonly revision: number;
  /** Gets what is on disk, in order, before the writers are told. Must not throw. */
  readonly publish: (events: readonly StorageEvent[], revision: number) => void;
}

/** Bounds of a batch: what deciding and encoding it may cost the event loop, and how long its first writer waits. */
const batchOperations = 64;
const batchBytes = 1 << 18;

/** After a failed commit everything is refused for so long, then one batch tries again. */
const retryAfterMs = 500;

/** Work of the store itself that shall be in some transaction. */
interface Chore {
  readonly write: () => void;
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

/**
 * Group commit. Operations queue; one batch at a time is decided, written as one lmdb transaction by lmdb's own thread,
 * and awaited until it is on disk; everything that arrives meanwhile is the next batch. So a hundred writers share one
 * fsync, a single writer waits for nobody, and there is never more than one undecided future: a batch that fails leaves
 * the file and the revision exactly as they were, and revisions that were given out in it are given out again.
 */
export class Committer {
  readonly #file: DataFile;
  readonly #room: RoomGuard;
  readonly #publish: CommitterOptions['publish'];
  #revision: number;
  #operations: Operation[] = [];
  #chores: Chore[] = [];
  #exclusive: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  #failure: { readonly error: StorageError; readonly until: number } | undefined;
  #broken: StorageError | undefined;

  constructor({ file, room, revision, publish }: CommitterOptions) {
    this.#file = file;
    this.#room = room;
    this.#revision = revision;
    this.#publish = publish;
  }

  /** Revision of the last batch that is on disk and published. */
  get revision(): number {
    return this.#revision;
  }

  submit(operation: Operation): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      operation.reject(refusal);
      return;
    }
    this.#operations.push(operation);
    this.#start();
  }

  /** Resolves when what `write` puts into the tables is on disk. */
  async chore(write: () => void): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    await new Promise<void>((resolve, reject) => {
      this.#chores.push({ write, resolve, reject });
      this.#start();
    });
  }

  /** Runs while no batch is under way; writers wait for it. */
  async exclusively(run: () => Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#exclusive.push(async () => {
        await run().then(resolve, reject);
      });
      this.#start();
    });
  }

  /** Rejects when a write would; tries one that changes nothing after a failure. */
  async check(): Promise<void> {
    if (this.#room.isLow()) throw new StorageFullError();
    if (this.#failure === undefined) {
      const refusal = this.#refusal();
      if (refusal !== undefined) throw refusal;
      return;
    }
    await this.chore(() => void this.#file.tables.meta.put('checked', empty, this.#revision));
  }

  /** Refuses new work and waits for what is queued. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #refusal(): StorageError | undefined {
    if (this.#closed) return new StorageUnavailableError('the store is closed');
    if (this.#broken !== undefined) return this.#broken;
    if (this.#failure !== undefined && performance.now() < this.#failure.until) return this.#failure.error;
    return undefined;
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Whatever else this turn of the event loop brings shares the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    for (;;) {
      const exclusive = this.#exclusive.shift();
      if (exclusive !== undefined) await exclusive();
      else if (this.#operations.length > 0 || this.#chores.length > 0) await this.#commit();
      else break;
    }
    this.#running = undefined;
  }

  async #commit(): Promise<void> {
    const chores = this.#chores;
    this.#chores = [];
    const operations = this.#admit(this.#take());
    if (operations.length === 0 && chores.length === 0) return;
    const plan = new WritePlan(this.#file.tables, this.#revision);
    try {
      for (const operation of operations) plan.decide(operation);
      await this.#file.tables.root.batch(() => {
        plan.write();
        for (const chore of chores) chore.write();
      });
    } catch (error) {
      const failure = await this.#failed(error);
      for (const operation of operations) operation.reject(failure);
      for (const chore of chores) chore.reject(failure);
      return;
    }
    this.#failure = undefined;
    this.#revision = plan.revision;
    this.#publish(plan.events(), plan.revision);
    plan.settle();
    for (const chore of chores) chore.resolve();
  }

  /** What may be done: everything, or without room only what removes. */
  #admit(operations: Operation[]): Operation[] {
    for (const { value } of operations) this.#room.wrote(value.length);
    if (!this.#room.isLow()) return operations;
    return operations.filter((operation) => {
      const grows = operation.kind === 'create' || operation.kind === 'update';
      if (grows) operation.reject(new StorageFullError());
      return !grows;
    });
  }

  #take(): Operation[] {
    let bytes = 0;
    let count = 0;
    for (const operation of this.#operations) {
      if (count === batchOperations || (count > 0 && bytes + operation.value.length > batchBytes)) break;
      bytes += operation.value.length;
      count++;
    }
    if (count === this.#operations.length) {
      const all = this.#operations;
      this.#operations = [];
      return all;
    }
    return this.#operations.splice(0, count);
  }

  /** Why a batch failed; never throws. */
  async #failed(reason: unknown): Promise<StorageError> {
    const error = await commitError(reason, this.#room.freeBytes());
    if (this.#isUnchanged()) {
      this.#failure = { error, until: performance.now() + retryAfterMs };
      return error;
    }
    // The transaction can be seen although its commit failed: whether it will be there after a restart, nobody knows.
    this.#broken = new StorageUnavailableError('the last commit is in doubt: the process must be restarted', reason);
    return new OutcomeUnknownError('(batch)', reason);
  }

  #isUnchanged(): boolean {
    try {
      return readMeta(this.#file.tables, 'revision') === this.#revision;
    } catch {
      return false;
    }
  }
}
