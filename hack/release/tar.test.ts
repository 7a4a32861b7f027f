import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { filesBelow, packArchive } from './tar.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('tar');
});
afterEach(() => folder.remove());

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(folder.join(path)), { recursive: true });
  writeFileSync(folder.join(path), text);
  chmodSync(folder.join(path), mode);
}

const seconds = 1_700_000_000;

test('tar unpacks what was packed, with long paths, modes and the time', () => {
  const long = `${'a-folder-with-a-name/'.repeat(7)}${'f'.repeat(90)}`;
  const texts = { 'in/empty': '', 'in/text': 'x'.repeat(513), [`in/${long}`]: 'long', 'in/ünïcode': 'é' };
  for (const [path, text] of Object.entries(texts)) put(path, text);
  put('in/program', '#!/bin/sh\n', 0o700);
  writeFileSync(folder.join('a.tgz'), packArchive(filesBelow(folder.join('in'), 'package'), seconds));
  mkdirSync(folder.join('out'));
  execFileSync('tar', ['-xzf', folder.join('a.tgz'), '-C', folder.join('out')]);
  for (const [path, text] of Object.entries(texts))
    expect(readFileSync(folder.join(path.replace('in/', 'out/package/')), 'utf8')).toBe(text);
  const program = statSync(folder.join('out/package/program'));
  expect(program.mode & 0o111).not.toBe(0);
  expect(program.mtimeMs).toBe(seconds * 1000);
  expect(statSync(folder.join('out/package/text')).mode & 0o111).toBe(0);
});

test('the bytes depend neither on times, owners and masks, nor on the order of folders', () => {
  const pack = (names: readonly string[], mode: number, time: number): Buffer => {
    const into = `${time}`;
    for (const name of names) {
      put(`${into}/${name}`, name, mode);
      utimesSync(folder.join(into, name), time, time);
    }
    return packArchive(filesBelow(folder.join(into), 'x'), seconds);
  };
  const first = pack(['a', 'b/c', 'b.d'], 0o600, 1000);
  expect(pack(['b.d', 'b/c', 'a'], 0o664, 2000).equals(first)).toBe(true);
  expect(pack(['b.d', 'b/c', 'a'], 0o755, 3000).equals(first)).toBe(false);
});

test('links and paths that do not fit are refused', () => {
  put('in/file', '');
  symlinkSync('file', folder.join('in/link'));
  expect(() => filesBelow(folder.join('in'), 'x')).toThrow(/not a file, .*link$/);
  expect(() => packArchive(new Map([['f'.repeat(101), folder.join('in/file')]]), seconds)).toThrow(/path is too long/);
});
