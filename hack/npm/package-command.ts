/**
 * Lays out in a folder the npm package `multiplane`: the command and its kubectl plugins, joined into few files, with the
 * libraries that they load. Node for the platform of the user is a dependency. The folders are those of the repository, so the
 * launchers in bin/ and what the modules find beside themselves stay the same. Runs after hack/build. Usage: package-command.ts <folder>
 */
import { cpSync, globSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundle, joinModules } from '../join-modules.ts';
import { commandManifest } from './command-manifest.ts';
import { libraryTree } from './library-tree.ts';

const root = join(import.meta.dirname, '..', '..');
const target = process.argv[2];
if (target === undefined) throw new Error('usage: package-command.ts <folder>');

/** Modules of ours are joined; libraries are found by their names, where npm has installed them. */
const librariesByName: Plugin = {
  name: 'libraries-by-name',
  setup: (run) => {
    run.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      const isOurs = path.startsWith('@multiplane/') || path === 'create-multiplane-provider' || kind === 'entry-point';
      return isOurs ? undefined : { external: true };
    });
  },
};

function write(path: string, contents: string | Uint8Array): void {
  const file = join(target as string, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contents);
}

const programs = globSync(join(bundle, '..', 'programs', '*.js'));
const threads = globSync(join(root, 'packages', '*', 'dist', '**', '*-thread.js'));
for (const { path, contents } of await joinModules([...programs, ...threads].sort(), librariesByName))
  write(relative(root, path), contents);
// A thread is started by the address of its module.
for (const thread of threads) {
  const joined = relative(dirname(thread), join(bundle, basename(thread)));
  write(relative(root, thread), `import '${joined}';\n`);
}
// What starts the joined files.
const starters = [
  'main.js',
  'run-program.js',
  ...readdirSync(join(bundle, '..')).filter((name) => /^kubectl-.*\.js$/.test(name)),
];
for (const name of starters)
  write(
    `packages/multiplane/dist/${name}`,
    readFileSync(join(bundle, '..', name), 'utf8').replace(/^\/\/# sourceMappingURL.*\n?/m, ''),
  );
const isStamp = (path: string): boolean => basename(path) === '.built';
for (const folder of ['packages/console/dist/browser', 'packages/create-multiplane-provider/template', 'bin'])
  cpSync(join(root, folder), join(target, folder), { recursive: true, filter: (path) => !isStamp(path) });
mkdirSync(join(target, 'hack'));
cpSync(join(root, 'hack', 'node'), join(target, 'hack', 'node'));
cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
cpSync(join(import.meta.dirname, 'README.md'), join(target, 'README.md'));
const { manifest, libraries } = commandManifest(root);
write('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`);
// npm clears the folder node_modules at the top of a package, so they lie below packages/. Without what only compilers, editors, package
// managers and their own developers read.
const isUnused = (path: string): boolean =>
  /\.d\.[cm]?ts$|\.map$|\.tsbuildinfo$|\.test\.[cm]?[jt]s$/.test(path) ||
  /^(?:\.github|__tests__|benchmarks?|examples?|node_modules|tests?)(?:\/|$)/.test(path);
for (const [path, folder] of libraryTree(libraries))
  cpSync(folder, join(target, 'packages', path), {
    recursive: true,
    filter: (from) => !isUnused(relative(folder, from)),
  });
