import { closeSync, fdatasync, openSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import type { Clock, Timer } from '@multiplane/component-base';
import { acknowledgedEndName } from './data-directory.ts';

/** Where the log ended when the last write was acknowledged. */
export interface AcknowledgedEnd {
  /** The salt of the store, so that the file of another store is not mistaken for this one's. */
  readonly salt: number;
  /** Number of the active log. */
  readonly segment: number;
  /** Its length in bytes. */
  readonly offset: number;
  /** Number of the last write. */
  readonly write: number;
  readonly revision: number;
}

const slotBytes = 64;
/** Each slot is in a page of its own, so that a torn page never destroys both. */
const slotDistance = 4096;
const magic = 'MPEND';
const format = 1;
/** How long the last end may be only in the page cache. */
const syncAfterMs = 1000;

const datasync = promisify(fdatasync);

/**
 * Records the acknowledged end of the log in the file `end`, so that recovery can tell a log that was shortened or is
 * missing from one that simply ended there.
 *
 *   order       append (durable, O_DSYNC) → record → publish → acknowledge. So the recorded end never lies ahead of what is
 *               durable: a recorded end that the log does not reach always means loss, never a crash at a bad moment.
 *   kill -9     the end is written to the page cache, without fsync, before the acknowledgement. The page cache survives the
 *               process, so every acknowledged write is covered.
 *   power loss  the file is synced once a second while writes happen. The end on disk is then at most a second and one
 *               fsync old: a lower bound. The log itself is durable up to the last acknowledgement; only the detection of
 *               a loss of its last second depends on this file.
 *   torn write  two slots in separate pages take turns; each has a checksum, and the valid one with the higher write
 *               number counts.
 *   full disk   the file has its full size from the start, so recording an end allocates nothing. An end that cannot be
 *               written is skipped: the previous one is still a lower bound.
 *
 * The cost per group commit is one write of 64 bytes into the page cache.
 */
export class EndRecorder {
  readonly #salt: number;
  readonly #handle: number;
  readonly #bytes = Buffer.alloc(slotBytes);
  #slot = 0;
  #dirty = false;
  readonly #clock: Pick<Clock, 'after'>;
  #timer: Timer | undefined;
  #syncing: Promise<void> | undefined;

  /** Creates or overwrites the file with this end; the caller has verified that the log reaches the previous one. */
  constructor(directory: string, end: AcknowledgedEnd, modules: { readonly clock: Pick<Clock, 'after'> }) {
    this.#clock = modules.clock;
    this.#salt = end.salt;
    this.#handle = openSync(join(directory, acknowledgedEndName), 'a+', 0o600);
    closeSync(this.#handle);
    this.#handle = openSync(join(directory, acknowledgedEndName), 'r+');
    for (let slot = 0; slot < 2; slot++) this.#writeSlot(end);
  }

  /** Records that everything up to this end is durable; call it before writers are acknowledged. */
  record(segment: number, offset: number, write: number, revision: number): void {
    try {
      this.#writeSlot({ salt: this.#salt, segment, offset, write, revision });
    } catch {
      // The end that is recorded remains a lower bound.
    }
    this.#dirty = true;
    this.#timer ??= this.#clock.after(syncAfterMs, () => void this.sync());
  }

  /** Makes the last recorded end durable. */
  async sync(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#syncing;
    if (!this.#dirty) return;
    this.#dirty = false;
    this.#syncing = datasync(this.#handle).catch(() => undefined);
    await this.#syncing;
  }

  async close(): Promise<void> {
    await this.sync();
    closeSync(this.#handle);
  }

  #writeSlot({ salt, segment, offset, write, revision }: AcknowledgedEnd): void {
    const bytes = this.#bytes;
    bytes.write(magic, 4, 'latin1');
    bytes[9] = format;
    bytes.writeUInt32LE(salt, 12);
    bytes.writeDoubleLE(segment, 16);
    bytes.writeDoubleLE(offset, 24);
    bytes.writeDoubleLE(write, 32);
    bytes.writeDoubleLE(revision, 40);
    bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
    writeSync(this.#handle, bytes, 0, slotBytes, this.#slot * slotDistance);
    this.#slot = 1 - this.#slot;
  }
}

/**
 * The recorded end. Undefined when there is none: the store is new, or was written by a version that did not record it;
 * `damaged` when the file exists and no slot is valid.
 */
export async function readAcknowledgedEnd(directory: string): Promise<AcknowledgedEnd | 'damaged' | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(join(directory, acknowledgedEndName));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  // The process died between the creation of the file and its first write; nothing was acknowledged by then.
  if (bytes.length === 0) return undefined;
  const ends = [slotAt(bytes, 0), slotAt(bytes, slotDistance)].filter((end) => end !== undefined);
  ends.sort((a, b) => b.revision - a.revision || b.write - a.write);
  return ends[0] ?? 'damaged';
}

function slotAt(file: Buffer, at: number): AcknowledgedEnd | undefined {
  const bytes = file.subarray(at, at + slotBytes);
  if (bytes.length < slotBytes || bytes.toString('latin1', 4, 4 + magic.length) !== magic) return undefined;
  if (bytes[9] !== format || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) return undefined;
  return {
    salt: bytes.readUInt32LE(12),
    segment: bytes.readDoubleLE(16),
    offset: bytes.readDoubleLE(24),
    write: bytes.readDoubleLE(32),
    revision: bytes.readDoubleLE(40),
  };
}
