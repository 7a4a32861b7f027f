import { readdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';

// Before anything else is loaded: compiled code is kept between starts, which halves the time until the first answer.
enableCompileCache();
// All modules in few files (hack/bundle.ts); there are none beside the sources.
const bundle = new URL('bundle/program.js', import.meta.url);
if (wantsBundle() && bundleIsCurrent()) await import(String(bundle));
else await import('./program.ts');

/**
 * A shard is the largest program, and the code that is kept of a file is what its first run needed: another command, or
 * one that only tells its flags, would leave little for it.
 */
function wantsBundle(): boolean {
  const [command = '', ...flags] = process.argv.slice(2);
  return ['start', 'shard'].includes(command) && !flags.some((flag) => flag === '--help' || flag === '-h');
}

/** True when nothing was compiled since: somebody who works on a package compiles that alone. */
function bundleIsCurrent(): boolean {
  const changed = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const packages = new URL('../../', import.meta.url);
  const made = changed(bundle);
  return readdirSync(packages).every((name) => changed(new URL(`${name}/dist/.tsbuildinfo`, packages)) < made);
}
