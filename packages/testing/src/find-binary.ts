import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { searchPath } from './options.ts';

/** Where `hack/servers` unpacks the servers that the machine does not have. */
const unpacked = join(import.meta.dirname, '..', '..', '..', '.cache', 'servers', 'usr');

/** The path of a program on the PATH or among those `hack/servers` unpacked. Throws with the remedy when there is none. */
export function findBinary(name: string): string {
  const folders = [...searchPath().split(delimiter), join(unpacked, 'bin'), join(unpacked, 'sbin')];
  for (const folder of folders) {
    const path = join(folder, name);
    if (isExecutable(path)) return path;
  }
  throw new Error(`${name} is not on the PATH; hack/servers fetches it`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
