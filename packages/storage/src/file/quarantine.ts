import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { quarantineName } from './data-directory.ts';
import type { Segment } from './segment.ts';

/** A damaged part of a segment, for logs and reports. */
export interface QuarantinedRecord {
  /** Path of the segment. */
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
  /** Undefined when the key is not readable. */
  readonly key: string | undefined;
  readonly revision: number | undefined;
  /** A later write of the key is intact, or the record was a delete: the current value is not affected. */
  readonly superseded: boolean;
}

/** Larger ranges are not copied; they stay in the segment until it is compacted. */
const maxBytes = 16 << 20;

/**
 * Copies damaged bytes, with what is known about them, into `quarantine/` before segment compaction drops them. The file
 * name is derived from the position, so that a further start does not add another copy.
 */
export async function quarantine(directory: string, segment: Segment, record: QuarantinedRecord): Promise<void> {
  const folder = join(directory, quarantineName);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const bytes = await segment.read(record.offset, Math.min(record.bytes, maxBytes));
  const content = { ...record, file: basename(record.file), data: bytes.toString('base64') };
  const name = `${basename(record.file)}-${record.offset}.json`;
  await writeFile(join(folder, name), `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
}

/** Number of quarantined records. */
export async function quarantinedCount(directory: string): Promise<number> {
  try {
    return (await readdir(join(directory, quarantineName))).filter((name) => name.endsWith('.json')).length;
  } catch {
    return 0;
  }
}
