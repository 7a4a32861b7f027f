import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { OutcomeUnknownError, type StorageError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import type { StorageEvent } from '../interface.ts';
import { encodeFileHead, fileHeadBytes } from './file-head.ts';
import { logName, sync, unfinishedSuffix } from './folder.ts';
import type { RoomGuard } from './room-guard.ts';
import { durable, Segment } from './segment.ts';
import type { State } from './state.ts';
import { type Operation, WritePlan } from './write-plan.ts';

export interface LogWriterOptions {
  readonly folder: string;
  readonly salt: number;
  /** Number of the last write. */
  readonly write: number;
  /** Gets what is on disk, in order, before the writers are told. Must not throw. */
  readonly publish: (events: readonly StorageEvent[]) => void;
}

export interface LogWriterModules {
  readonly state: State;
  readonly room: RoomGuard;
}

/** Bounds of a write: what deciding and encoding it may cost the event loop, and how long its first writer waits. */
const operationsPerWrite = 512;
const bytesPerWrite = 4 << 20;
/** A file beyond this is followed by another, so that what is old can be merged while new things are written. */
const fileBytes = 64 << 20;
/** After a failure everything is refused for so long, then one write tries again. */
const retryAfterMs = 500;

interface Chore {
  readonly oldest: number;
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

/**
 * Group commit. Operations queue; one write at a time is decided, appended and made durable; everything that arrives
 * meanwhile is the next one. So a hundred writers share one fsync, a single writer waits for nobody, and there is never
 * more than one undecided future: a write that fails is cut off again, and revisions that were given out in it are given
 * out anew. When the system cannot make a write durable nor undo it, nobody knows what the disk holds, and nothing is
 * written any more.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #state: State;
  readonly #room: RoomGuard;
  #write: number;
  #operations: Operation[] = [];
  #chores: Chore[] = [];
  #between: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  #failure: { readonly error: StorageError; readonly until: number } | undefined;
  #broken: StorageError | undefined;

  constructor(options: LogWriterOptions, { state, room }: LogWriterModules) {
    this.#options = options;
    this.#write = options.write;
    this.#state = state;
    this.#room = room;
  }

  submit(operation: Operation): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) operation.reject(refusal);
    else {
      this.#operations.push(operation);
      this.#start();
    }
  }

  /** Resolves when it is on disk that history up to a revision is forgotten. */
  async forget(oldest: number): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    await new Promise<void>((resolve, reject) => {
      this.#chores.push({ oldest, resolve, reject });
      this.#start();
    });
  }

  /** Looks at the state between two writes, with the number of the last one. */
  async look<T>(look: (write: number) => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return await new Promise<T>((resolve) => {
      this.#between.push(async () => resolve(look(this.#write)));
      this.#start();
    });
  }

  /** The number of the last write of a writer that is closed. */
  get write(): number {
    return this.#write;
  }

  /** Begins a new file, so that the ones before change no more; looks at the state between two writes. */
  async roll<T>(look: () => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return await new Promise<T>((resolve, reject) => {
      this.#between.push(async () => {
        await this.#nextFile().then(() => resolve(look()), reject);
      });
      this.#start();
    });
  }

  /** Rejects when a write would; after a failure tries one that changes nothing. */
  async check(): Promise<void> {
    if (this.#room.isLow()) throw new StorageFullError();
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#failure !== undefined) await this.forget(this.#state.history.oldest);
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
    // Whatever else this turn of the event loop brings shares the first write.
    await nextTurn();
    for (;;) {
      const between = this.#between.shift();
      if (between !== undefined) await between();
      else if (this.#operations.length > 0 || this.#chores.length > 0) await this.#commit();
      else break;
    }
    this.#running = undefined;
  }

  async #commit(): Promise<void> {
    const chores = this.#chores;
    this.#chores = [];
    const operations = this.#admit(this.#take());
    const plan = new WritePlan(this.#state);
    for (const operation of operations) plan.decide(operation);
    for (const { oldest } of chores) plan.compact(oldest);
    let offset = 0;
    if (!plan.isEmpty) {
      try {
        if (this.#state.active.size > fileBytes) await this.#nextFile();
        offset = await this.#append(plan.encode(++this.#write, this.#options.salt));
      } catch (error) {
        for (const operation of operations) operation.reject(this.#reason(error, operation.key));
        for (const chore of chores) chore.reject(this.#reason(error, ''));
        return;
      }
      this.#failure = undefined;
      this.#options.publish(plan.apply(this.#state.active, offset));
    }
    plan.settle();
    for (const chore of chores) chore.resolve();
  }

  /** Appends durably, which is how logs are opened; returns where. */
  async #append(bytes: Buffer): Promise<number> {
    const { active } = this.#state;
    const offset = active.size;
    try {
      await writeAll(active.file, bytes, offset);
    } catch (error) {
      await this.#undo(active, error);
      throw error;
    }
    active.size = offset + bytes.length;
    return offset;
  }

  /** Cuts a failed write off again; when that fails too, its outcome is unknown for good. */
  async #undo(segment: Segment, reason: unknown): Promise<void> {
    this.#failure = { error: failureOf(reason, this.#room.freeBytes()), until: performance.now() + retryAfterMs };
    try {
      await segment.file.truncate(segment.size);
      await segment.file.sync();
    } catch (error) {
      const message = 'the disk neither takes nor undoes a write: the process must be restarted';
      this.#broken = new StorageUnavailableError(message, error);
    }
  }

  #reason(error: unknown, key: string): StorageError {
    if (this.#broken !== undefined) return new OutcomeUnknownError(key, error);
    return failureOf(error, this.#room.freeBytes());
  }

  async #nextFile(): Promise<void> {
    try {
      const segment = await createLog(this.#options, this.#state.active.id + 1, this.#state.revision);
      this.#state.segments.push(segment);
    } catch (error) {
      this.#failure = { error: failureOf(error, this.#room.freeBytes()), until: performance.now() + retryAfterMs };
      throw this.#failure.error;
    }
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
      if (count === operationsPerWrite || (count > 0 && bytes + operation.value.length > bytesPerWrite)) break;
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
}

/** A new file to append to. Its head is durable before it gets its name, so a file with a name has a head. */
export async function createLog(
  { folder, salt }: { readonly folder: string; readonly salt: number },
  id: number,
  revision: number,
): Promise<Segment> {
  const path = join(folder, logName(id));
  const unfinished = path + unfinishedSuffix;
  const file = await open(unfinished, durable | constants.O_CREAT | constants.O_TRUNC, 0o600);
  try {
    await writeAll(file, encodeFileHead({ kind: 'log', id, revision, oldest: 0, size: 0, salt }), 0);
    await file.sync();
    await rename(unfinished, path);
    await sync(folder);
  } catch (error) {
    await file.close();
    throw error;
  }
  return new Segment(id, path, file, fileHeadBytes);
}

/** The system may take less than it was given. */
export async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

const full: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const fullBelowBytes = 1 << 20;

function failureOf(error: unknown, freeBytes: number): StorageError {
  if (isStorageErrorLike(error)) return error;
  const code = errorCode(error);
  if (full.has(code) || (code === 'EIO' && freeBytes < fullBelowBytes)) return new StorageFullError(error);
  return new StorageUnavailableError('the disk refused a write', error);
}

function isStorageErrorLike(error: unknown): error is StorageError {
  return error instanceof StorageFullError || error instanceof StorageUnavailableError;
}
