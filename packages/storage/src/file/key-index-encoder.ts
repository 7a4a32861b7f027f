import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { FileHandle } from 'node:fs/promises';
import { ByteWriter } from './byte-writer.ts';
import { BlockWriter, entryFlags, writeLocation } from './index-blocks.ts';
import {
  fingerprintOf,
  format,
  type KeyIndexContent,
  magic,
  maxBytes,
  snapshotHeaderBytes,
} from './key-index-snapshot.ts';
import { writeAll } from './log-writer.ts';
import type { Entry } from './record.ts';
import type { Segment } from './segment.ts';

/** Entries that are encoded between two yields to the event loop. */
const entriesPerSlice = 2000;
/** Bytes per write to the file. */
const writeBytes = 1 << 20;

/**
 * Writes a key index snapshot (layout: key-index-snapshot.ts). The records must not move meanwhile. False when the
 * snapshot would be too large or `isWanted` became false.
 */
export async function writeKeyIndexSnapshot(
  file: FileHandle,
  content: KeyIndexContent,
  isWanted: () => boolean,
): Promise<boolean> {
  return await new KeyIndexEncoder(content, { file, isWanted }).write();
}

class KeyIndexEncoder {
  readonly #content: KeyIndexContent;
  readonly #file: FileHandle;
  readonly #isWanted: () => boolean;
  readonly #indexes: ReadonlyMap<Segment, number>;
  readonly #bytes = new ByteWriter();
  readonly #blocks: BlockWriter;
  readonly #expiring: Entry[] = [];
  /** Checksum and end of the bytes in the file. */
  #sum = 0;
  #end = snapshotHeaderBytes;

  constructor(content: KeyIndexContent, modules: { readonly file: FileHandle; readonly isWanted: () => boolean }) {
    this.#content = content;
    this.#file = modules.file;
    this.#isWanted = modules.isWanted;
    this.#indexes = new Map(content.files.map(({ file }, i) => [file, i]));
    this.#blocks = new BlockWriter(this.#bytes, this.#indexOf);
  }

  async write(): Promise<boolean> {
    const bytes = this.#bytes;
    if (!(await this.#writeBlocks())) return false;
    const blockBytes = bytes.length;
    bytes.bytes(Buffer.from(Uint32Array.from(this.#blocks.starts).buffer));
    await this.#writeFiles();
    bytes.number(this.#expiring.length);
    for (const { key, expiresAt } of this.#expiring) {
      bytes.text(key);
      bytes.double(expiresAt as number);
    }
    if (!(await this.#writeChanges())) return false;
    await this.#flush();
    await writeAll(this.#file, this.#header(blockBytes), 0);
    return this.#end < maxBytes;
  }

  async #writeBlocks(): Promise<boolean> {
    const { view } = this.#content;
    for (let from = ''; ;) {
      const entries = view.scan(from, undefined, entriesPerSlice);
      for (const entry of entries) {
        this.#blocks.add(entry);
        if (entry.expiresAt !== undefined) this.#expiring.push(entry);
      }
      if (!(await this.#endSlice())) return false;
      const last = entries.at(-1);
      if (last === undefined) return true;
      from = `${last.key}\0`;
    }
  }

  async #writeFiles(): Promise<void> {
    const bytes = this.#bytes;
    bytes.number(this.#content.files.length);
    for (const { file: segment, size, live } of this.#content.files) {
      bytes.byte(segment.path.endsWith('.base') ? 1 : 0);
      bytes.number(segment.id);
      bytes.number(size);
      bytes.number(live);
      bytes.double(await fingerprintOf(segment, size));
    }
  }

  async #writeChanges(): Promise<boolean> {
    const { changes, oldest } = this.#content;
    const bytes = this.#bytes;
    const starts = new Uint32Array(changes.length);
    const weights = new Uint32Array(2 * changes.length);
    for (const [i, { entry, previous }] of changes.entries()) {
      starts[i] = snapshotHeaderBytes + bytes.length;
      weights[2 * i] = entry.key.length;
      weights[2 * i + 1] = previous?.bytes ?? 0;
      // A replaced record that an earlier change wrote is a reference to that change.
      const isInHistory = previous !== undefined && previous.revision > oldest;
      bytes.byte(entryFlags(entry));
      bytes.text(entry.key);
      writeLocation(bytes, entry, this.#indexOf);
      bytes.byte(previous === undefined ? 0 : isInHistory ? 1 : 2);
      if (isInHistory) bytes.number(previous.revision - oldest - 1);
      else if (previous !== undefined) {
        bytes.byte(entryFlags(previous));
        writeLocation(bytes, previous, this.#indexOf);
      }
      if (i % entriesPerSlice === 0 && !(await this.#endSlice())) return false;
    }
    bytes.bytes(Buffer.from(starts.buffer));
    bytes.bytes(Buffer.from(weights.buffer));
    return true;
  }

  #header(blockBytes: number): Buffer {
    const { salt, write, revision, oldest, view } = this.#content;
    const header = Buffer.alloc(snapshotHeaderBytes);
    header.write(magic, 4, 'latin1');
    header.writeUInt32LE(format, 12);
    header.writeDoubleLE(revision, 16);
    header.writeDoubleLE(oldest, 24);
    header.writeUInt32LE(salt, 32);
    header.writeUInt32LE(write % 2 ** 32, 36);
    // Zero in snapshots of earlier versions.
    header.writeUInt32LE(Math.floor(write / 2 ** 32), 72);
    header.writeUInt32LE(this.#blocks.count, 40);
    header.writeUInt32LE(this.#blocks.starts.length, 44);
    header.writeDoubleLE(blockBytes, 48);
    header.writeDoubleLE(this.#end, 56);
    header.writeUInt32LE(this.#sum, 64);
    header[68] = view.isWide ? 1 : 0;
    header.writeUInt32LE(crc32(header.subarray(4)), 0);
    return header;
  }

  readonly #indexOf = (segment: Segment): number => {
    const index = this.#indexes.get(segment);
    if (index === undefined) throw new TypeError(`record in an unknown segment: ${segment.path}`);
    return index;
  };

  /** Writes a full buffer or yields; false when the snapshot is to be abandoned. */
  async #endSlice(): Promise<boolean> {
    if (this.#bytes.pending >= writeBytes) await this.#flush();
    else await yieldToEventLoop();
    return this.#isWanted() && this.#end < maxBytes;
  }

  async #flush(): Promise<void> {
    const bytes = this.#bytes.take();
    this.#sum = crc32(bytes, this.#sum);
    await writeAll(this.#file, bytes, this.#end);
    this.#end += bytes.length;
  }
}
