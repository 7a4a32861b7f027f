import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { OutcomeUnknownError, type StorageError, StorageFullError, StorageUnavailableError } from '../errors.ts';
import type { StorageEvent } from '../interface.ts';
import { encodeFileHeader, fileHeaderBytes } from './file-header.ts';
import { logName, sync, unfinishedSuffix } from './data-directory.ts';
import type { EndRecorder } from './acknowledged-end.ts';
import type { DiskSpaceGuard } from './disk-space-guard.ts';
import { durable, Segment } from './segment.ts';
import type { StoreState } from './store-state.ts';
import { type Operation, WriteBatch } from './write-batch.ts';

export interface LogWriterOptions {
  readonly directory: string;
  readonly salt: number;
  /** Number of the last write. */
  readonly write: number;
  /** Receives durable events in order, before their writers are acknowledged. Must not throw. */
  readonly publish: (events: readonly StorageEvent[]) => void;
}

export interface LogWriterModules {
  readonly state: StoreState;
  readonly diskSpace: DiskSpaceGuard;
  readonly end: EndRecorder;
}

/** Limits of one write: they bound the time on the event loop and the latency of its first writer. */
const operationsPerWrite = 512;
const bytesPerWrite = 4 << 20;
/** A larger log is followed by a new one, so that compaction can read the old one while writes continue. */
const fileBytes = 64 << 20;
/** Writes are refused for this time after a failure; then one write tries again. */
const retryAfterMs = 500;

interface CompactionRequest {
  readonly oldest: number;
  readonly resolve: () => void;
  readonly reject: (error: StorageError) => void;
}

/**
 * Group commit. Operations are queued; one write at a time is decided, appended and synced; operations that arrive
 * meanwhile form the next write. So a hundred writers share one fsync and a single writer waits for nothing else.
 *
 *   failed write   is truncated, and its revisions are assigned again; only one write is undecided at any time
 *   failed undo    the content of the disk is unknown: the outcome of the write is unknown, and all later writes are refused
 *   acknowledged   the end of the log is recorded after each write, before it is published (acknowledged-end.ts)
 *   between writes compaction records, log rotation and consistent reads of the state run exclusively
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #state: StoreState;
  readonly #diskSpace: DiskSpaceGuard;
  readonly #end: EndRecorder;
  #write: number;
  #operations: Operation[] = [];
  #compactions: CompactionRequest[] = [];
  #exclusiveTasks: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  #failure: { readonly error: StorageError; readonly until: number } | undefined;
  #broken: StorageError | undefined;

  constructor(options: LogWriterOptions, { state, diskSpace, end }: LogWriterModules) {
    this.#options = options;
    this.#write = options.write;
    this.#state = state;
    this.#diskSpace = diskSpace;
    this.#end = end;
  }

  submit(operation: Operation): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) operation.reject(refusal);
    else {
      this.#operations.push(operation);
      this.#start();
    }
  }

  /** Resolves when the compaction of the history up to a revision is durable. */
  async recordCompaction(oldest: number): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    await new Promise<void>((resolve, reject) => {
      this.#compactions.push({ oldest, resolve, reject });
      this.#start();
    });
  }

  /** Runs `read` between two writes, with the number of the last one. */
  async readExclusively<T>(read: (write: number) => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return await new Promise<T>((resolve) => {
      this.#exclusiveTasks.push(async () => resolve(read(this.#write)));
      this.#start();
    });
  }

  /** Number of the last write; after close. */
  get write(): number {
    return this.#write;
  }

  /** Starts a new log, so that the older segments do not change any more, and runs `read` between two writes. */
  async rotate<T>(read: () => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    return await new Promise<T>((resolve, reject) => {
      this.#exclusiveTasks.push(async () => {
        await this.#rotate().then(() => resolve(read()), reject);
      });
      this.#start();
    });
  }

  /** Rejects when a write would be refused; after a failure it tries a write without effect. */
  async check(): Promise<void> {
    if (this.#diskSpace.isLow()) throw new StorageFullError();
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#failure !== undefined) await this.recordCompaction(this.#state.history.oldest);
  }

  /** Refuses new work and waits for queued work. */
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
    // Operations of the same event-loop iteration share the first write.
    await yieldToEventLoop();
    for (;;) {
      const task = this.#exclusiveTasks.shift();
      if (task !== undefined) await task();
      else if (this.#operations.length > 0 || this.#compactions.length > 0) await this.#commit();
      else break;
    }
    this.#running = undefined;
  }

  async #commit(): Promise<void> {
    const compactions = this.#compactions;
    this.#compactions = [];
    const operations = this.#admit(this.#take());
    const plan = new WriteBatch(this.#state);
    for (const operation of operations) plan.decide(operation);
    for (const { oldest } of compactions) plan.compact(oldest);
    let offset = 0;
    if (!plan.isEmpty) {
      try {
        if (this.#state.active.size > fileBytes) await this.#rotate();
        offset = await this.#append(plan.encode(++this.#write, this.#options.salt));
      } catch (error) {
        for (const operation of operations) operation.reject(this.#reason(error, operation.key));
        for (const compaction of compactions) compaction.reject(this.#reason(error, ''));
        return;
      }
      this.#failure = undefined;
      const { id, size } = this.#state.active;
      this.#end.record(id, size, this.#write, plan.revision);
      this.#options.publish(plan.apply(this.#state.active, offset));
    }
    plan.settle();
    for (const compaction of compactions) compaction.resolve();
  }

  /** Appends durably (segments are opened with O_DSYNC); returns the offset. */
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

  /** Truncates a failed write; when that fails too, its outcome stays unknown. */
  async #undo(segment: Segment, reason: unknown): Promise<void> {
    this.#failure = { error: failureOf(reason, this.#diskSpace.freeBytes()), until: performance.now() + retryAfterMs };
    try {
      await segment.file.truncate(segment.size);
      await segment.file.sync();
    } catch (error) {
      const message = 'failed to undo a failed write: restart the process';
      this.#broken = new StorageUnavailableError(message, error);
    }
  }

  #reason(error: unknown, key: string): StorageError {
    if (this.#broken !== undefined) return new OutcomeUnknownError(key, error);
    return failureOf(error, this.#diskSpace.freeBytes());
  }

  async #rotate(): Promise<void> {
    try {
      const segment = await createLog(this.#options, this.#state.active.id + 1, this.#state.revision);
      this.#state.segments.push(segment);
    } catch (error) {
      this.#failure = { error: failureOf(error, this.#diskSpace.freeBytes()), until: performance.now() + retryAfterMs };
      throw this.#failure.error;
    }
  }

  /** Without disk space only operations that delete are admitted. */
  #admit(operations: Operation[]): Operation[] {
    for (const { value } of operations) this.#diskSpace.wrote(value.length);
    if (!this.#diskSpace.isLow()) return operations;
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

/** Creates a log. Its header is durable before the file gets its name, so every named log has a header. */
export async function createLog(
  { directory, salt }: { readonly directory: string; readonly salt: number },
  id: number,
  revision: number,
): Promise<Segment> {
  const path = join(directory, logName(id));
  const unfinished = path + unfinishedSuffix;
  const file = await open(unfinished, durable | constants.O_CREAT | constants.O_TRUNC, 0o600);
  try {
    await writeAll(file, encodeFileHeader({ kind: 'log', id, revision, oldest: 0, size: 0, salt }), 0);
    await file.sync();
    await rename(unfinished, path);
    await sync(directory);
  } catch (error) {
    await file.close();
    throw error;
  }
  return new Segment(id, path, file, fileHeaderBytes);
}

/** Repeats partial writes. */
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
  return new StorageUnavailableError('failed to write to the data directory', error);
}

function isStorageErrorLike(error: unknown): error is StorageError {
  return error instanceof StorageFullError || error instanceof StorageUnavailableError;
}
