import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { findCommand } from './find-command.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await TempDir.create('find-command');
});
afterEach(() => folder.remove());

function put(...path: string[]): string {
  mkdirSync(folder.join(...path.slice(0, -1)), { recursive: true });
  writeFileSync(folder.join(...path), '');
  return folder.join(...path);
}

test('the command of the project comes before that of a folder above it, and that before the PATH', () => {
  const path = `/nowhere:${folder.join('bin')}:`;
  const project = folder.join('a', 'project');
  expect(() => findCommand({ folder: project, path })).toThrow(
    /^the command multiplane is neither in node_modules\/\.bin of .* nor on the PATH/,
  );
  const onPath = put('bin', 'multiplane');
  expect(findCommand({ folder: project, path })).toBe(onPath);
  const above = put('a', 'node_modules', '.bin', 'multiplane');
  expect(findCommand({ folder: project, path })).toBe(above);
  const own = put('a', 'project', 'node_modules', '.bin', 'multiplane');
  expect(findCommand({ folder: project, path })).toBe(own);
});
