import { rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { keysName, sync, unfinishedSuffix } from './folder.ts';
import { type KeyFileContent, writeKeyFile } from './key-file.ts';
import type { LogWriter } from './log-writer.ts';
import type { Merger } from './merger.ts';
import type { RoomGuard } from './room-guard.ts';
import type { State } from './state.ts';

export interface KeyKeeperOptions {
  readonly folder: string;
  readonly salt: number;
  /** Stores of fewer bytes have no file of keys: they are read as a whole. */
  readonly wholeBelowBytes: number;
  /** Bytes that opening the store had to read behind what the file of keys knew; undefined: all, there is none. */
  readonly behind: number | undefined;
}

export interface KeyKeeperModules {
  readonly state: State;
  readonly writer: LogWriter;
  readonly merger: Merger;
  readonly room: RoomGuard;
}

/** The file is written anew when this part of the store was written since: that is what a start has to read. */
const behindPart = 1 / 8;
/** At the end it is left as it is when less was written since: a start reads that in no time. */
const littleBytes = 1 << 20;
/** More than a key takes, by far. */
const bytesPerKey = 400;

/**
 * Writes the file of keys, by which the next start knows what stands in the files (key-file.ts): when the store is closed,
 * when its files were merged, and every now and then, so that a start after `kill -9` has little to read. It is written
 * beside the one there is and takes its place when it is durable; a crash at any point leaves the old one, which is right
 * as far as it goes, or none that counts.
 *
 * Only the next start is faster by it. So a failure to write it is nobody's: the old one stays.
 */
export class KeyKeeper {
  readonly #options: KeyKeeperOptions;
  readonly #state: State;
  readonly #writer: LogWriter;
  readonly #merger: Merger;
  readonly #room: RoomGuard;
  /** What was written since the last one. */
  #behind: number;
  /** There is one, of the files as they are. */
  #isKept: boolean;
  /** A record was damaged. */
  #isDistrusted = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: KeyKeeperOptions, { state, writer, merger, room }: KeyKeeperModules) {
    this.#options = options;
    this.#state = state;
    this.#writer = writer;
    this.#merger = merger;
    this.#room = room;
    this.#behind = options.behind ?? 0;
    this.#isKept = options.behind !== undefined;
  }

  /** So many bytes were written. */
  wrote(bytes: number): void {
    this.#behind += bytes;
    if (this.#behind >= this.#options.wholeBelowBytes) this.#startIfWorth();
  }

  /** Records stand elsewhere. */
  moved(): void {
    this.#isKept = false;
    this.#startIfWorth();
  }

  /** A record is not what was written: the next start shall read everything, and say what is wrong. */
  distrust(): void {
    if (this.#isDistrusted) return;
    this.#isDistrusted = true;
    // Synchronous: the process may be about to end for it.
    rmSync(join(this.#options.folder, keysName), { force: true });
  }

  /** Nothing is written in the background any more. */
  async stop(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** The last one, of a store that does not change any more. */
  async finish(): Promise<void> {
    const { wholeBelowBytes } = this.#options;
    if (
      this.#isDistrusted ||
      !this.#isLarge() ||
      (this.#isKept && this.#behind <= Math.min(littleBytes, wholeBelowBytes))
    )
      return;
    await this.#state.history.makeAll();
    await this.#write(this.#look(this.#writer.write), () => true);
  }

  #isLarge(): boolean {
    return this.#state.size().total >= this.#options.wholeBelowBytes;
  }

  #startIfWorth(): void {
    if (this.#closed || this.#isDistrusted || this.#running !== undefined || !this.#isLarge()) return;
    if (this.#isKept && this.#behind < this.#state.size().total * behindPart) return;
    this.#running = this.#merger
      .pause(async () => {
        await this.#state.history.makeAll();
        // What is written from here on is not in it.
        this.#behind = 0;
        const content = await this.#writer.look((write) => this.#look(write)).catch(() => undefined);
        this.#isKept =
          content !== undefined && (await this.#write(content, () => !this.#closed && !this.#isDistrusted));
      })
      .finally(() => (this.#running = undefined));
  }

  #look(write: number): KeyFileContent {
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

  /** True when it is on the disk. */
  async #write(content: KeyFileContent, isWanted: () => boolean): Promise<boolean> {
    const { folder, wholeBelowBytes } = this.#options;
    if (this.#room.freeBytes() < 2 * wholeBelowBytes + bytesPerKey * content.view.size) return false;
    const path = join(folder, keysName);
    const unfinished = path + unfinishedSuffix;
    try {
      const file = await open(unfinished, 'w', 0o600);
      let isWhole;
      try {
        isWhole = await writeKeyFile(file, content, isWanted);
        if (isWhole) await file.sync();
      } finally {
        await file.close();
      }
      if (isWhole && !this.#isDistrusted) {
        await rename(unfinished, path);
        await sync(folder);
      } else await rm(unfinished, { force: true });
      return isWhole;
    } catch {
      await rm(unfinished, { force: true }).catch(() => undefined);
      return false;
    }
  }
}
