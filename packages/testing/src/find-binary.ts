import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { searchPath } from './options.ts';
import { MissingPrerequisiteError } from './unless-missing.ts';

/** Folder to which `hack/servers` downloads etcd and NATS. */
const unpacked = join(import.meta.dirname, '..', '..', '..', '.cache', 'servers', 'usr');

/** The path of a program in PATH or in the folder of `hack/servers`. Throws a {@link MissingPrerequisiteError}. */
export function findBinary(name: string): string {
  const folders = [...searchPath().split(delimiter), join(unpacked, 'bin'), join(unpacked, 'sbin')];
  for (const folder of folders) {
    const path = join(folder, name);
    if (isExecutable(path)) return path;
  }
  throw new MissingPrerequisiteError(`${name} is not on the PATH; hack/servers fetches it, or install it`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
