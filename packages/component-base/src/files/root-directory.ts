import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { OptionError } from '../options/parse-value.ts';

/** What to do about a folder that cannot be used, by the code of the failed system call. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'give its owner or group the right to write to it, or run as that user',
  EPERM: 'give its owner or group the right to write to it, or run as that user',
  EROFS: 'the file system is read-only: mount it writable',
  ENOTDIR: 'a file is where a folder must be: move it away',
  EEXIST: 'a file is where a folder must be: move it away',
  ENOSPC: 'the file system is full: free space',
  EDQUOT: 'the disk quota is used up: free space',
};

/**
 * Creates the root directory of a server, with the folders above it, for its user alone, and checks that the server can write to it.
 * Throws OptionError with what to do.
 */
export async function makeRootDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const remedy = remedies[code];
    throw new OptionError(
      `--root-directory: ${directory} cannot be used: ${message}: ${remedy === undefined ? '' : `${remedy}, or `}name another folder`,
      { cause: error },
    );
  }
}
