import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * File names. `7.base` is the result of compacting all segments up to number 7; the logs `8.log`, `9.log`, … follow it. A
 * file with the suffix `.new` was being written when the process died.
 */
export const baseName = (id: number): string => `${String(id).padStart(8, '0')}.base`;
export const logName = (id: number): string => `${String(id).padStart(8, '0')}.log`;
export const unfinishedSuffix = '.new';
/** The key index snapshot (key-index-snapshot.ts). */
export const keyIndexFileName = 'keys';
export const lockName = 'lock';
/** The acknowledged end of the log (acknowledged-end.ts). */
export const acknowledgedEndName = 'end';
/** Damaged records that recovery left out (quarantine.ts). */
export const quarantineName = 'quarantine';

export interface DirectoryContent {
  /** Number of the newest base. */
  readonly base: number | undefined;
  /** Numbers of the logs after it, in order. */
  readonly logs: readonly number[];
  /** A key index snapshot exists. */
  readonly keys: boolean;
  /** Paths of files without meaning: unfinished, or covered by the base. */
  readonly stale: readonly string[];
}

export async function readDataDirectory(directory: string): Promise<DirectoryContent> {
  const names = await readdir(directory);
  const ids = (extension: string): number[] =>
    names
      .map((name) => (name.endsWith(extension) ? Number.parseInt(name, 10) : Number.NaN))
      .filter((id) => !Number.isNaN(id))
      .sort((a, b) => a - b);
  const bases = ids('.base');
  const base = bases.at(-1);
  const logs = ids('.log');
  return {
    base,
    logs: logs.filter((id) => base === undefined || id > base),
    keys: names.includes(keyIndexFileName),
    stale: [
      ...names.filter((name) => name.endsWith(unfinishedSuffix)),
      ...bases.slice(0, -1).map(baseName),
      ...logs.filter((id) => base !== undefined && id <= base).map(logName),
    ].map((name) => join(directory, name)),
  };
}

/** Syncs the content of a file, or the names in a directory, to disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
