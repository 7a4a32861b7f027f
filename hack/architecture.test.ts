import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { owners, packages, testOnly } from './architecture.ts';

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  exports: Record<string, Record<string, string>>;
}

const packagesDir = join(import.meta.dirname, '..', 'packages');
const readJson = <T>(...path: string[]): T => JSON.parse(readFileSync(join(packagesDir, ...path), 'utf8')) as T;
const dependenciesOf = (name: string): string[] =>
  Object.keys(readJson<Manifest>(name, 'package.json').dependencies ?? {});
const scope = '@multiplane/';
/** The folder of a package of this repository, or undefined for a library. */
const folderOf = (dependency: string): string | undefined => {
  const folder = dependency.startsWith(scope) ? dependency.slice(scope.length) : dependency;
  return packages[folder] === undefined ? undefined : folder;
};

test('every package folder stands in the table', () => {
  expect(readdirSync(packagesDir).sort()).toEqual(Object.keys(packages).sort());
});

test('the arrows have no cycle', () => {
  const visit = (name: string, path: readonly string[]): void => {
    expect(path).not.toContain(name);
    for (const next of packages[name]?.mayImport ?? []) visit(next, [...path, name]);
  };
  for (const name of Object.keys(packages)) visit(name, []);
});

test('servers never depend on each other, and nothing depends on a test-only package', () => {
  for (const [name, rule] of Object.entries(packages)) {
    if (testOnly.includes(name)) continue;
    expect(rule.mayImport.filter((other) => testOnly.includes(other))).toEqual([]);
    if (rule.server) {
      expect(rule.mayImport.filter((other) => packages[other]?.server)).toEqual([]);
    }
  }
});

describe.each(Object.keys(packages))('%s', (name) => {
  const allowed = packages[name]?.mayImport ?? [];

  test('depends only on what the table allows', () => {
    const siblings = dependenciesOf(name).map(folderOf);
    expect(siblings.filter((sibling) => sibling !== undefined && !allowed.includes(sibling))).toEqual([]);
  });

  test('declares only libraries that it owns', () => {
    const libraries = dependenciesOf(name).filter((dependency) => folderOf(dependency) === undefined);
    expect(libraries.filter((library) => !owners[library]?.includes(name))).toEqual([]);
  });

  test('has a project reference for every sibling it depends on', () => {
    const siblings = dependenciesOf(name)
      .map(folderOf)
      .filter((folder) => folder !== undefined)
      .map((folder) => ({ path: `../${folder}` }));
    const { references } = readJson<{ references: { path: string }[] }>(name, 'tsconfig.json');
    expect(references).toEqual(siblings);
  });

  test('resolves to its sources in tests and to dist elsewhere', () => {
    const main = readJson<Manifest>(name, 'package.json').exports['.'];
    expect(main).toEqual({
      'multiplane-source': './src/index.ts',
      types: './dist/index.d.ts',
      default: './dist/index.js',
    });
  });
});
