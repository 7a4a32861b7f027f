import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { removeUnfinishedStore } from '../data-directory.ts';
import { openFileStorage } from '../open-file-storage.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('foreign');
});
afterEach(() => folder[Symbol.asyncDispose]());

const path = (name: string): string => join(folder.path, name);
const put = (name: string): void => writeFileSync(path(name), `mine: ${name}`);
const expectKept = (name: string): void => expect(readFileSync(path(name), 'utf8')).toBe(`mine: ${name}`);
const open = () => openFileStorage({ directory: folder.path });

describe('a directory without a store', () => {
  test.each(['notes.txt', 'keys', 'quarantine', '1.log', '2026-report.log', '00000001.log.bak', 'keys.new', 'db'])(
    'is refused when it has the file %s, which stays',
    async (name) => {
      put(name);
      await expect(open()).rejects.toThrow(`the directory ${folder.path} is not empty and has no store (${name})`);
      expect(readdirSync(folder.path)).toEqual([name]);
      expectKept(name);
    },
  );

  test.each(['lock', 'end', '00000001.log', '00000001.base'])(
    'is refused when a file %s is not what a store writes, and the file stays',
    async (name) => {
      put(name);
      await expect(open()).rejects.toMatchObject({ code: 'Unusable' });
      expectKept(name);
    },
  );
});

describe('a directory with a store', () => {
  beforeEach(async () => {
    const store = await open();
    await store.create('/registry/a', Buffer.from('1'));
    await store.close();
  });

  test('keeps files of other names through starts and segment compaction', async () => {
    const names = ['notes.new', '2.log', '7.base', '2026-report.log', 'keys.txt'];
    for (const name of names) put(name);
    for (let start = 0; start < 2; start++) {
      const store = await open();
      await store.defragment();
      expect((await store.get('/registry/a'))?.value.toString()).toBe('1');
      await store.close();
    }
    for (const name of names) expectKept(name);
  });

  test('renames a file that is in the place of the key index', async () => {
    put('keys');
    const store = await open();
    expect((await store.get('/registry/a'))?.value.toString()).toBe('1');
    await store.close();
    const renamed = readdirSync(folder.path).filter((name) => name.startsWith('keys.unknown-'));
    expect(renamed.map((name) => readFileSync(path(name), 'utf8'))).toEqual(['mine: keys']);
  });
});

describe('an unfinished restore', () => {
  test('is removed, and its directory need not exist', async () => {
    mkdirSync(path('restoring'));
    const store = await openFileStorage({ directory: path('restoring') });
    await store.close();
    await removeUnfinishedStore(path('restoring'));
    await removeUnfinishedStore(path('restoring'));
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test('is not removed with a file that no store writes', async () => {
    put('notes.txt');
    await expect(removeUnfinishedStore(folder.path)).rejects.toThrow(`move ${folder.path} away first`);
    expectKept('notes.txt');
  });
});
