import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { searchPath } from './options.ts';

/** Folder to which `hack/servers` downloads etcd and NATS. */
const unpacked = join(import.meta.dirname, '..', '..', '..', '.cache', 'servers', 'usr');

/** The path of a program in PATH or in the folder of `hack/servers`. Throws when it is missing. */
export function findBinary(name: string): string {
  const folders = [...searchPath().split(delimiter), join(unpacked, 'bin'), join(unpacked, 'sbin')];
  for (const folder of folders) {
    const path = join(folder, name);
    if (isExecutable(path)) return path;
  }
  throw new Error(`${name} not found in PATH; run hack/servers`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
