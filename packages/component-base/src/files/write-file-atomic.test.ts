import { lstat, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writeFileAtomic } from './write-file-atomic.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('replaces the content, keeps secrets to the owner and leaves nothing else behind', async () => {
  const path = join(folder, 'admin.kubeconfig');
  await writeFile(path, 'old');
  await writeFileAtomic(path, 'new');
  expect(await readFile(path, 'utf8')).toBe('new');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['admin.kubeconfig']);
});

test('names the file that could not be written, with the cause', async () => {
  const path = join(folder, 'missing', 'file');
  await expect(writeFileAtomic(path, '')).rejects.toMatchObject({
    message: `cannot write ${path}`,
    cause: { code: 'ENOENT' },
  });
});

test('a symbolic link stays, and the file that it names is replaced', async () => {
  const [link, target] = [join(folder, 'config'), join(folder, 'target')];
  await symlink('target', link);
  for (const content of ['created', 'replaced']) {
    await writeFileAtomic(link, content);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(target, 'utf8')).toBe(content);
  }
  expect((await readdir(folder)).toSorted()).toEqual(['config', 'target']);
});
