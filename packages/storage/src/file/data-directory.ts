import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageUnusableError } from '../errors.ts';

/**
 * File names. `7.base` is the result of compacting all segments up to number 7; the logs `8.log`, `9.log`, … follow it. A
 * file with the suffix `.new` was being written when the process died.
 */
export const baseName = (id: number): string => `${String(id).padStart(8, '0')}.base`;
export const logName = (id: number): string => `${String(id).padStart(8, '0')}.log`;
export const unfinishedSuffix = '.new';
/** The key index snapshot (key-index-snapshot.ts). */
export const keyIndexFileName = 'keys';
const lockName = 'lock';
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
  const bases = idsOf(names, baseName, '.base');
  const logs = idsOf(names, logName, '.log');
  const base = bases.at(-1);
  return {
    base,
    logs: logs.filter((id) => base === undefined || id > base),
    keys: names.includes(keyIndexFileName),
    stale: [
      ...names.filter((name) => name.endsWith(unfinishedSuffix) && isOwnName(name.slice(0, -unfinishedSuffix.length))),
      ...bases.slice(0, -1).map(baseName),
      ...logs.filter((id) => base !== undefined && id <= base).map(logName),
    ].map((name) => join(directory, name)),
  };
}

/**
 * Throws a StorageUnusableError for a directory that belongs to something else: it has files, but neither a base nor a log. In a
 * directory of a store, files of other names are left alone.
 */
export async function checkDataDirectory(directory: string): Promise<void> {
  const names = await readdir(directory);
  if (names.some((name) => isSegmentName(name.replace(/\.new$/, '')))) return;
  // Without its segments a store is incomplete, which recovery reports by the acknowledged end.
  if (names.includes(acknowledgedEndName)) return;
  // A process that dies before it writes its first log leaves the lock.
  const foreign = names.filter((name) => name !== lockName);
  if (foreign.length === 0) return;
  const [first, ...others] = foreign.toSorted();
  throw new StorageUnusableError(
    `the directory ${directory} is not empty and has no store (${first}${others.length > 0 ? ` and ${others.length} more` : ''}): ` +
      'use another directory, or move its files away',
  );
}

/**
 * Removes a directory that an unfinished restore left, if it exists. Throws a StorageUnusableError, and removes nothing, when it has
 * a file that no store writes.
 */
export async function removeUnfinishedStore(directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  const foreign = names.find(
    (name) => name !== lockName && name !== quarantineName && !isOwnName(name.replace(/\.new$/, '')),
  );
  if (foreign !== undefined)
    throw new StorageUnusableError(
      `${join(directory, foreign)} is not a file of a store: move ${directory} away first`,
    );
  await rm(directory, { recursive: true, force: true });
}

/** Numbers of the files that a naming function names, in order. */
const idsOf = (names: readonly string[], nameOf: (id: number) => string, extension: string): number[] =>
  names
    .filter((name) => name.endsWith(extension))
    .map((name) => [name, Number.parseInt(name, 10)] as const)
    .filter(([name, id]) => nameOf(id) === name)
    .map(([, id]) => id)
    .sort((a, b) => a - b);

const isSegmentName = (name: string): boolean =>
  idsOf([name], baseName, '.base').length > 0 || idsOf([name], logName, '.log').length > 0;
const isOwnName = (name: string): boolean =>
  isSegmentName(name) || name === keyIndexFileName || name === acknowledgedEndName;

/** Syncs the content of a file, or the names in a directory, to disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
