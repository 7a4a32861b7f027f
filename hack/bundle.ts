/*
 * Joins the compiled modules of the command and of the plugins into few files, packages/multiplane/dist/bundle/, which
 * run in place of them (ADR 70). What is installed stays where it is. Usage: hack/node hack/bundle.ts
 */
import { realpathSync } from 'node:fs';
import { glob, mkdir, rename, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, join, relative, sep } from 'node:path';
import type { OutputFile, Plugin } from 'esbuild';
import { bundle, joinModules } from './join-modules.ts';

/** Marks a question of the plugin itself. */
const asked = Symbol('asked');
const programs = await Array.fromAsync(glob(join(bundle, '..', 'programs', '*.js')));

/** Modules of ours are joined; what is installed is found where the package that names it has it. */
const installedStaysOutside: Plugin = {
  name: 'installed-stays-outside',
  setup: (run) => {
    run.onResolve({ filter: /^[^./]/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (pluginData === asked || path.startsWith('@multiplane/') || kind === 'entry-point') return undefined;
      if (isBuiltin(path)) return { external: true };
      const { path: file, errors } = await run.resolve(path, { importer, resolveDir, kind, pluginData: asked });
      if (errors.length > 0) return { errors };
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path;
      const link = join(resolveDir.slice(0, resolveDir.indexOf(`${sep}dist`)), 'node_modules', name);
      return { path: relative(bundle, file.replace(realpathSync(link), link)), external: true };
    });
  },
};

const outputFiles = await joinModules(programs, installedStaysOutside);

// Shared files are named after their content, and come first: a server that runs still finds those that it has not loaded
// yet, and a process that starts meanwhile sees all of the old ones or all of the new ones. A rename replaces each file:
// such a process must not read a file that is half written.
await mkdir(bundle, { recursive: true });
const isProgram = ({ path }: OutputFile): boolean => programs.some((program) => basename(program) === basename(path));
const sharedFirst = outputFiles.toSorted((a, b) => Number(isProgram(a)) - Number(isProgram(b)));
for (const { path, contents } of sharedFirst) {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, contents);
  await rename(temporary, path);
}
