import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { projectNames } from './project-names.ts';

export interface ProjectOptions {
  /** Is created; must be empty if it exists, but for a `.git`. */
  readonly folder: string;
  /** API group; `example.dev` by default. */
  readonly group?: string | undefined;
  /** Kind of the API; `Cowboy` by default. */
  readonly kind?: string | undefined;
}

const own = new URL('..', import.meta.url).pathname;
const suffix = '.template';

/**
 * Writes a project with an API, its export, a controller and a test into a folder. Throws for invalid names and for a folder that
 * has files, before anything is written.
 *
 * @returns the names of the files, relative to the folder
 */
export async function createProject({
  folder,
  group = 'example.dev',
  kind = 'Cowboy',
}: ProjectOptions): Promise<string[]> {
  const names = projectNames({ project: basename(resolve(folder)), group, kind });
  const { version } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8')) as { version: string };
  // All packages are published together, with one version.
  const words = new Map(Object.entries({ ...names, version }));
  const filled = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (all, word: string) => words.get(word) ?? all);
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Error(`failed to read ${folder}: ${error.message}`, { cause: error });
  });
  const [first] = present.filter((name) => name !== '.git');
  if (first !== undefined) throw new Error(`${folder} is not empty: it has ${first}`);
  const template = join(own, 'template');
  const files = (await readdir(template, { recursive: true })).filter((file) => file.endsWith(suffix));
  const written = files.sort().map((file) => {
    // npm leaves files that begin with a dot out of packages, or renames them.
    const name = filled(file.slice(0, -suffix.length)).replace(/^dot-/, '.');
    return { from: join(template, file), name };
  });
  for (const { from, name } of written) {
    const to = join(folder, name);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, filled(await readFile(from, 'utf8')), { flag: 'wx' });
  }
  return written.map(({ name }) => name);
}
