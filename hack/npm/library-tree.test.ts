import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { libraryTree } from './library-tree.ts';

let store: TempDir;
beforeEach(async () => {
  store = await TempDir.create('library-tree');
});
afterEach(() => store.remove());

/** Installs libraries as pnpm does: each with links to what it needs beside it. `b@1: ['c@2']`. */
function install(all: Readonly<Record<string, readonly string[]>>): (id: string) => string {
  const nameOf = (id: string): string => id.slice(0, id.lastIndexOf('@'));
  const folderOf = (id: string): string => store.join(id.replace('/', '+'), 'node_modules', nameOf(id));
  for (const [id, needs] of Object.entries(all)) {
    mkdirSync(folderOf(id), { recursive: true });
    const dependencies = Object.fromEntries(needs.map((need) => [nameOf(need), '*']));
    writeFileSync(
      `${folderOf(id)}/package.json`,
      JSON.stringify({ dependencies, optionalDependencies: { absent: '*' } }),
    );
  }
  for (const [id, needs] of Object.entries(all)) {
    for (const need of needs) {
      const link = store.join(id.replace('/', '+'), 'node_modules', nameOf(need));
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(folderOf(need), link);
    }
  }
  return folderOf;
}

test('libraries lie at the top, and inside of the one that needs another version', () => {
  const folderOf = install({ '@x/a@1': ['b@1', 'c@1'], 'b@1': ['c@2'], 'c@1': [], 'c@2': ['d@1'], 'd@1': ['c@1'] });
  const tree = libraryTree(new Map([['@x/a', folderOf('@x/a@1')]]));
  expect(Object.fromEntries(tree)).toEqual({
    'node_modules/@x/a': folderOf('@x/a@1'),
    'node_modules/b': folderOf('b@1'),
    'node_modules/c': folderOf('c@1'),
    'node_modules/b/node_modules/c': folderOf('c@2'),
    'node_modules/d': folderOf('d@1'),
  });
});

test('libraries that need each other are placed once', () => {
  const folderOf = install({ 'a@1': ['b@1'], 'b@1': ['a@1'] });
  expect([...libraryTree(new Map([['a', folderOf('a@1')]])).keys()]).toEqual(['node_modules/a', 'node_modules/b']);
});

test('a library inside of another one finds the version it needs there', () => {
  const folderOf = install({ 'a@1': ['b@1'], 'b@1': ['c@1'], 'c@1': ['b@2'], 'b@2': ['c@2'], 'c@2': [] });
  expect(Object.fromEntries(libraryTree(new Map([['a', folderOf('a@1')]])))).toEqual({
    'node_modules/a': folderOf('a@1'),
    'node_modules/b': folderOf('b@1'),
    'node_modules/c': folderOf('c@1'),
    'node_modules/c/node_modules/b': folderOf('b@2'),
    'node_modules/c/node_modules/b/node_modules/c': folderOf('c@2'),
  });
});
