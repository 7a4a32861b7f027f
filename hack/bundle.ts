/*
 * Joins the compiled modules of the command and of the plugins into few files, packages/multiplane/dist/bundle/, which
 * run in place of them (ADR 70). What is installed stays where it is. Usage: hack/node hack/bundle.ts
 */
import { readFileSync, realpathSync } from 'node:fs';
import { glob, mkdir, rename, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, join, relative, sep } from 'node:path';
import { build, type OutputFile, type Plugin } from 'esbuild';

/** Marks a question of the plugin itself. */
const asked = Symbol('asked');
const folder = join(import.meta.dirname, '..', 'packages', 'multiplane', 'dist');
const bundle = join(folder, 'bundle');
const programs = await Array.fromAsync(glob(join(folder, 'programs', '*.js')));

/**
 * An import of `node:http` reads all that it exports, and that loads the WebSocket client of Node: a third of the processor time
 * that a plugin takes to start. As an object it is read one by one.
 */
const httpIsReadLazily: Plugin = {
  name: 'http-is-read-lazily',
  setup: (run) => {
    run.onResolve({ filter: /^(node:)?http$/ }, () => ({ path: 'node:http', namespace: 'lazy' }));
    run.onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

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

/** Threads are started, and libraries found, beside the module that names them: its address stays its own. */
const addressesStay: Plugin = {
  name: 'addresses-stay',
  setup: (run) => {
    run.onLoad({ filter: /[\\/]dist[\\/].*\.js$/ }, ({ path }) => {
      const own = `new URL(${JSON.stringify(relative(bundle, path))}, import.meta.url).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', `(${own})`) };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: programs,
  outdir: bundle,
  write: false,
  bundle: true,
  // What is imported when it is needed stays in files of its own.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // One character beyond Latin-1 would double the memory that the whole text takes.
  charset: 'ascii',
  logLevel: 'warning',
  plugins: [httpIsReadLazily, installedStaysOutside, addressesStay],
});

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
