import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** TEST HELPER: names and total bytes of the data files of a store. */
export function dataFiles(directory: string): { readonly names: string[]; readonly bytes: number } {
  const names = readdirSync(directory)
    .filter((name) => !['lock', 'end', 'quarantine'].includes(name))
    .sort();
  return { names, bytes: names.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0) };
}
