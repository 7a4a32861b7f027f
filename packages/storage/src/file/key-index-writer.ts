import { rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keyIndexFileName, sync, unfinishedSuffix } from './data-directory.ts';
import { writeKeyIndexSnapshot } from './key-index-encoder.ts';
import type { KeyIndexContent } from './key-index-snapshot.ts';
import type { LogWriter } from './log-writer.ts';
import type { SegmentCompactor } from './segment-compactor.ts';
import type { DiskSpaceGuard } from './disk-space-guard.ts';
import type { StoreState } from './store-state.ts';

export interface KeyIndexWriterOptions {
  readonly directory: string;
  readonly salt: number;
  /** Smaller stores have no snapshot: recovery replays them completely. */
  readonly minIndexSnapshotBytes: number;
  /** Bytes that recovery replayed after the snapshot; undefined: there was no snapshot. */
  readonly replayedBytes: number | undefined;
}

export interface KeyIndexWriterModules {
  readonly state: StoreState;
  readonly writer: LogWriter;
  readonly compactor: SegmentCompactor;
  readonly diskSpace: DiskSpaceGuard;
}

/** The snapshot is rewritten when a larger fraction of the store was written since: recovery has to replay that. */
const maxReplayFraction = 1 / 8;
/** On close the snapshot is kept when less was written since. */
const minSnapshotGrowthBytes = 1 << 20;
/** Upper estimate of the bytes of a key in the snapshot. */
const bytesPerKey = 400;

/**
 * Writes the key index snapshot: on close, after segment compaction, and periodically, so that recovery after `kill -9` only
 * replays the tail of the log. It is written to a temporary file, synced, then renamed: a crash at any point leaves the
 * previous snapshot, which is valid up to its position in the log, or one that recovery ignores.
 *
 * The snapshot only speeds up the next start, so a failed write is ignored and the previous snapshot is kept
 * (docs/adr/0067-key-index-snapshot.md).
 */
export class KeyIndexWriter {
  readonly #options: KeyIndexWriterOptions;
  readonly #state: StoreState;
  readonly #writer: LogWriter;
  readonly #compactor: SegmentCompactor;
  readonly #diskSpace: DiskSpaceGuard;
  /** Bytes written since the last snapshot. */
  #bytesSinceSnapshot: number;
  /** A snapshot of the current segments exists. */
  #isCurrent: boolean;
  /** A damaged record was found. */
  #foundDamage = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: KeyIndexWriterOptions, { state, writer, compactor, diskSpace }: KeyIndexWriterModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#compactor = compactor;
    this.#diskSpace = diskSpace;
    this.#bytesSinceSnapshot = options.replayedBytes ?? 0;
    this.#isCurrent = options.replayedBytes !== undefined;
  }

  /** Accounts for bytes written to the log. */
  wrote(bytes: number): void {
    this.#bytesSinceSnapshot += bytes;
    if (this.#bytesSinceSnapshot >= this.#options.minIndexSnapshotBytes) this.#startIfWorth();
  }

  /** Segment compaction moved records. */
  invalidate(): void {
    this.#isCurrent = false;
    this.#startIfWorth();
  }

  /** A damaged record was found: removes the snapshot, so that the next start checks everything and reports the damage. */
  reportDamage(): void {
    if (this.#foundDamage) return;
    this.#foundDamage = true;
    // Synchronous, since the process may end because of the damage.
    rmSync(join(this.#options.directory, keyIndexFileName), { force: true });
  }

  /** Ends background writes. */
  async stop(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Writes the last snapshot; the store is closed for writes. */
  async finish(): Promise<void> {
    const { minIndexSnapshotBytes } = this.#options;
    if (
      this.#foundDamage ||
      !this.#isLarge() ||
      (this.#isCurrent && this.#bytesSinceSnapshot <= Math.min(minSnapshotGrowthBytes, minIndexSnapshotBytes))
    )
      return;
    await this.#state.history.materialize();
    await this.#write(this.#snapshot(this.#writer.write), () => true);
  }

  #isLarge(): boolean {
    return this.#state.size().total >= this.#options.minIndexSnapshotBytes;
  }

  #startIfWorth(): void {
    if (this.#closed || this.#foundDamage || this.#running !== undefined || !this.#isLarge()) return;
    if (this.#isCurrent && this.#bytesSinceSnapshot < this.#state.size().total * maxReplayFraction) return;
    this.#running = this.#compactor
      .pause(async () => {
        await this.#state.history.materialize();
        // Writes from here on are not in the snapshot.
        this.#bytesSinceSnapshot = 0;
        const content = await this.#writer.readExclusively((write) => this.#snapshot(write)).catch(() => undefined);
        this.#isCurrent =
          content !== undefined && (await this.#write(content, () => !this.#closed && !this.#foundDamage));
      })
      .finally(() => (this.#running = undefined));
  }

  #snapshot(write: number): KeyIndexContent {
    const { segments, revision, history, index } = this.#state;
    const { oldest } = history;
    return {
      salt: this.#options.salt,
      write,
      revision,
      oldest,
      files: segments.map((file) => ({ file, size: file.size, live: file.live })),
      view: index.freeze(),
      changes: history.after(oldest, Infinity),
    };
  }

  /** True when the snapshot is durable. */
  async #write(content: KeyIndexContent, isWanted: () => boolean): Promise<boolean> {
    const { directory, minIndexSnapshotBytes } = this.#options;
    if (this.#diskSpace.freeBytes() < 2 * minIndexSnapshotBytes + bytesPerKey * content.view.size) return false;
    const path = join(directory, keyIndexFileName);
    const unfinished = path + unfinishedSuffix;
    try {
      const file = await open(unfinished, 'w', 0o600);
      let isIntact;
      try {
        isIntact = await writeKeyIndexSnapshot(file, content, isWanted);
        if (isIntact) await file.sync();
      } finally {
        await file.close();
      }
      if (isIntact && !this.#foundDamage) {
        await rename(unfinished, path);
        await sync(directory);
      } else await rm(unfinished, { force: true });
      return isIntact;
    } catch {
      await rm(unfinished, { force: true }).catch(() => undefined);
      return false;
    }
  }
}
