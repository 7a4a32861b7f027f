import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { OptionError } from '../options/parse-value.ts';
import { makeRootDirectory } from './root-directory.ts';

let directory: TempDir;

beforeAll(async () => {
  directory = await TempDir.create('root-directory');
});

afterAll(() => directory.remove());

test('a missing folder is created for the user of the server alone', async () => {
  const created = join(directory.path, 'a', 'b');
  await makeRootDirectory(created);
  expect(statSync(created).mode & 0o777).toBe(0o700);
  await expect(makeRootDirectory(created)).resolves.toBeUndefined();
});

test.each(['file', join('file', 'below')])('%s: a file in the way is named, with the remedy', async (name) => {
  const file = join(directory.path, 'file');
  writeFileSync(file, '');
  const path = join(directory.path, name);
  const error = await makeRootDirectory(path).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(OptionError);
  expect((error as Error).message).toMatch(
    new RegExp(
      `^--root-directory: ${path} cannot be used: .+: a file is where a folder must be: move it away, or name another folder$`,
    ),
  );
});
