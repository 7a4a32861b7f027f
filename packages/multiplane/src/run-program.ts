import { readdirSync, statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';

/**
 * Runs one of `programs/`, joined with all that it imports into few files (hack/bundle.ts, ADR 70) where they are as new as
 * its modules, else module by module.
 *
 * @param name - of the file, without its extension
 * @param loadModules - imports it as a module
 */
export async function runProgram(name: string, loadModules: () => Promise<unknown>): Promise<void> {
  // Before anything else is loaded: compiled code is kept between starts, which halves the time until the first answer.
  enableCompileCache();
  const bundled = new URL(`bundle/${name}.js`, import.meta.url);
  await (isCurrent(bundled) ? import(String(bundled)) : loadModules());
}

/** True when nothing was compiled since: somebody who works on a package compiles that alone. */
function isCurrent(bundled: URL): boolean {
  const changed = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const packages = new URL('../../', import.meta.url);
  const made = changed(bundled);
  return readdirSync(packages).every((name) => changed(new URL(`${name}/dist/.tsbuildinfo`, packages)) < made);
}
