import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** TEST HELPER: the data files of a store, and how many bytes they have. */
export function dataFiles(folder: string): { readonly names: string[]; readonly bytes: number } {
  const names = readdirSync(folder)
    .filter((name) => name !== 'lock')
    .sort();
  return { names, bytes: names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) };
}
