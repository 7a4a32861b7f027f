import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Real folders of what lies in a folder `node_modules` of pnpm, by name. */
function installedIn(folder: string): Map<string, string> {
  const names = readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  return new Map(names.filter((name) => !name.startsWith('.')).map((name) => [name, realpathSync(join(folder, name))]));
}

/** What a library needs and pnpm has put beside it. Optional ones may be missing. */
function dependenciesOf(folder: string, name: string): ReadonlyMap<string, string> {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest;
  const beside = installedIn(name.startsWith('@') ? dirname(dirname(folder)) : dirname(folder));
  const needed = Object.keys({ ...dependencies, ...optionalDependencies }).filter((other) => beside.has(other));
  return new Map(needed.sort().map((other) => [other, beside.get(other) as string]));
}

/**
 * Places libraries and all that they need in folders `node_modules` without links, as an npm package contains them. A library lies at
 * the top, or inside of the one that needs it where the top has another version. Returns the real folder by path below the package:
 * `node_modules/a/node_modules/b`.
 */
export function libraryTree(libraries: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const placed = new Map<string, string>();
  /** The folder that Node finds for an import of `name` by a module at `path`. */
  const find = (path: string, name: string): string | undefined => {
    for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      const found = placed.get(`${at === '' ? '' : `${at}/`}node_modules/${name}`);
      if (found !== undefined || !at.includes('/node_modules/')) return found ?? placed.get(`node_modules/${name}`);
    }
  };
  const queue: { readonly path: string; readonly name: string; readonly folder: string }[] = [];
  const place = (path: string, name: string, folder: string): void => {
    placed.set(path, folder);
    queue.push({ path, name, folder });
  };
  for (const [name, folder] of libraries) place(`node_modules/${name}`, name, folder);
  for (const { path, name, folder } of queue) {
    for (const [other, wanted] of dependenciesOf(folder, name)) {
      const found = find(path, other);
      if (found === undefined) place(`node_modules/${other}`, other, wanted);
      else if (found !== wanted) place(`${path}/node_modules/${other}`, other, wanted);
    }
  }
  // A library that was placed inside of another one later may hide the one that was found before.
  for (const { path, name, folder } of queue) {
    for (const [other, wanted] of dependenciesOf(folder, name)) {
      if (find(path, other) !== wanted) throw new Error(`${path} does not find its ${other}`);
    }
  }
  return placed;
}
