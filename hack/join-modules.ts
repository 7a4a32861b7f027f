import { readFileSync } from 'node:fs';
import { relative, sep, join } from 'node:path';
import { build, type OutputFile, type Plugin } from 'esbuild';

/** The folder of the joined files; the modules that they are made of are found from here. */
export const bundle = join(import.meta.dirname, '..', 'packages', 'multiplane', 'dist', 'bundle');

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

/** Threads are started, and libraries found, beside the module that names them: its address stays its own. */
const addressesStay: Plugin = {
  name: 'addresses-stay',
  setup: (run) => {
    run.onLoad({ filter: /[\\/]dist[\\/].*\.js$/ }, ({ path }) => {
      const own = `new URL(${JSON.stringify(relative(bundle, path).replaceAll(sep, '/'))}, import.meta.url).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', `(${own})`) };
    });
  },
};

/**
 * Joins compiled modules and those of ours that they import into few files (ADR 70).
 *
 * @param entryPoints - the modules that are started
 * @param installed - leaves out what is installed
 */
export async function joinModules(entryPoints: readonly string[], installed: Plugin): Promise<readonly OutputFile[]> {
  const { outputFiles } = await build({
    entryPoints: [...entryPoints],
    entryNames: '[name]',
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
    plugins: [httpIsReadLazily, installed, addressesStay],
  });
  return outputFiles;
}
