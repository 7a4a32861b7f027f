import { randomInt } from 'node:crypto';
import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageUnusableError } from '../errors.ts';
import { baseName, sync, unfinishedSuffix } from './data-directory.ts';
import { encodeFileHeader, fileHeaderBytes } from './file-header.ts';

/**
 * Creates an embedded store without keys whose revision is already `revision`, so that whatever is written to it is newer
 * for clients of the store that it replaces: an empty base that covers all revisions up to it. Throws StorageUnusableError
 * when the directory is not empty.
 */
export async function createFileStoreAt(directory: string, revision: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0)
    throw new StorageUnusableError(`the directory ${directory} is not empty: move it away first`);
  const path = join(directory, baseName(1));
  const salt = randomInt(2 ** 32);
  const header = { kind: 'base' as const, id: 1, revision, oldest: revision, size: fileHeaderBytes, salt };
  const file = await open(path + unfinishedSuffix, 'w', 0o600);
  try {
    await file.write(encodeFileHeader(header));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(path + unfinishedSuffix, path);
  await sync(directory);
}
