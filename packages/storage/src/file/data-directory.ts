import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Names inside the folder. `7.base` holds what was wanted of everything up to the seventh file when it was made; `8.log`,
 * `9.log`, … follow it. A file `.new` was being made when the process died.
 */
export const baseName = (id: number): string => `${String(id).padStart(8, '0')}.base`;
export const logName = (id: number): string => `${String(id).padStart(8, '0')}.log`;
export const unfinishedSuffix = '.new';
/** What the files of records hold, to be known without reading them (key-file.ts). */
export const keysName = 'keys';
export const lockName = 'lock';

export interface FolderContent {
  /** The newest base, if there is one. */
  readonly base: number | undefined;
  /** Logs that follow it, in order. */
  readonly logs: readonly number[];
  /** There is a file of keys. */
  readonly keys: boolean;
  /** Files that mean nothing: unfinished, or contained in the base. */
  readonly stale: readonly string[];
}

export async function readFolder(folder: string): Promise<FolderContent> {
  const names = await readdir(folder);
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
    keys: names.includes(keysName),
    stale: [
      ...names.filter((name) => name.endsWith(unfinishedSuffix)),
      ...bases.slice(0, -1).map(baseName),
      ...logs.filter((id) => base !== undefined && id <= base).map(logName),
    ].map((name) => join(folder, name)),
  };
}

/** Makes a file's content, or a folder's names, durable. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
