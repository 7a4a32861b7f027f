import { open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openTables, type Tables } from './tables.ts';

/** Names inside the folder. */
export const dataName = 'store.mdb';
export const copyName = 'store.copy.mdb';

/**
 * The open lmdb file. lmdb reuses the pages of what was removed but never gives them back, so the file is now and then
 * replaced by a copy of what is live: nobody writes meanwhile, readers that span turns of the event loop are waited for,
 * and the copy is on disk before it takes the name. A crash at any point leaves either the old file or the new one.
 */
export class DataFile {
  readonly folder: string;
  #tables: Tables;
  #readers = 0;
  #drained: (() => void) | undefined;
  #swapping: Promise<void> | undefined;

  constructor(folder: string) {
    this.folder = folder;
    this.#tables = openTables(join(folder, dataName));
  }

  /** For use within one turn of the event loop, outside {@link read} only when {@link swapping} is undefined. */
  get tables(): Tables {
    return this.#tables;
  }

  /** Wait for it before touching the tables. */
  get swapping(): Promise<void> | undefined {
    return this.#swapping;
  }

  /** Keeps the file open for a read that takes several turns. */
  async read<T>(run: (tables: Tables) => Promise<T>): Promise<T> {
    while (this.#swapping !== undefined) await this.#swapping;
    this.#readers++;
    try {
      return await run(this.#tables);
    } finally {
      this.#readers--;
      if (this.#readers === 0) this.#drained?.();
    }
  }

  /** Bytes of the file, and of its pages that hold something. */
  async size(): Promise<{ readonly file: number; readonly live: number }> {
    const { size } = await stat(join(this.folder, dataName));
    return { file: size, live: livePages(this.#tables) * pageSize(this.#tables) };
  }

  /** Replaces the file by a copy of its live pages. Only while no batch is under way. */
  async rewrite(): Promise<void> {
    const copy = join(this.folder, copyName);
    await rm(copy, { force: true });
    await this.#tables.root.backup(copy, true);
    await sync(copy);
    const swap = Promise.withResolvers<void>();
    this.#swapping = swap.promise;
    try {
      while (this.#readers > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
      await this.#tables.root.close();
      await this.#replace(copy);
    } finally {
      this.#drained = undefined;
      this.#swapping = undefined;
      swap.resolve();
    }
  }

  /** Puts the copy in the place of the closed file, and opens what stands there then: the old one if that failed. */
  async #replace(copy: string): Promise<void> {
    const path = join(this.folder, dataName);
    try {
      await rename(copy, path);
      await sync(this.folder);
      // It describes readers of the old file.
      await rm(`${path}-lock`, { force: true });
    } finally {
      this.#tables = openTables(path);
    }
  }

  async close(): Promise<void> {
    while (this.#swapping !== undefined) await this.#swapping;
    while (this.#readers > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    await this.#tables.root.close();
  }
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

/** The part of lmdb's statistics that its types leave out. */
interface PageStatistics {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

function statistics(database: { getStats(): unknown }): PageStatistics {
  return database.getStats() as PageStatistics;
}

function pageSize(tables: Tables): number {
  return statistics(tables.root).pageSize;
}

function livePages(tables: Tables): number {
  let pages = 2;
  for (const table of Object.values(tables) as { getStats(): unknown }[]) {
    const { treeBranchPageCount, treeLeafPageCount, overflowPages } = statistics(table);
    pages += treeBranchPageCount + treeLeafPageCount + overflowPages;
  }
  return pages;
}
