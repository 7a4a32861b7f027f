import { lstat, open, readlink, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { randomUUID } from 'node:crypto';

/** As on Linux. */
const maxSymbolicLinks = 40;

/**
 * Replaces a file so that a reader sees the old or the new content, never a part, also across a crash: the content
 * goes to a temporary name in the same folder, is flushed, renamed, and the folder is flushed. A symbolic link stays, and the file
 * that it names is replaced.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const suffix = `.${randomUUID()}.tmp`;
  let target = path;
  try {
    target = await followSymbolicLinks(path);
    const file = await open(`${target}${suffix}`, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${target}${suffix}`, target);
  } catch (error) {
    await rm(`${target}${suffix}`, { force: true });
    throw new Error(`cannot write ${path}`, { cause: error });
  }
  const folder = await open(dirname(target), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The file that a path names, which need not exist. */
async function followSymbolicLinks(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < maxSymbolicLinks; links++) {
    const isLink = await lstat(target).then(
      (found) => found.isSymbolicLink(),
      () => false,
    );
    if (!isLink) return target;
    target = resolve(dirname(target), await readlink(target));
  }
  throw new Error('too many symbolic links');
}
