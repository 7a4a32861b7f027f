import { readdirSync, statSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';

/** A server has compiled by then what a start needs. */
const flushAfterMs = 10_000;

/**
 * Runs one of `programs/`: its bundle (hack/bundle.ts, ADR 70) when that is newer than all compiled packages, otherwise its
 * modules.
 *
 * @param name - file name without extension
 * @param loadModules - imports the program as a module
 */
export async function runProgram(name: string, loadModules: () => Promise<unknown>): Promise<void> {
  // Must precede all other imports. The compile cache halves the time until the first response of a server.
  enableCompileCache();
  // Node writes the cache at exit; a server that is killed would compile everything again at its next start.
  setTimeout(flushCompileCache, flushAfterMs).unref();
  const bundled = new URL(`bundle/${name}.js`, import.meta.url);
  await (isCurrent(bundled) ? import(String(bundled)) : loadModules());
}

/** True when no package was compiled after the bundle, as during development. */
function isCurrent(bundled: URL): boolean {
  const modifiedAt = (file: URL): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const packages = new URL('../../', import.meta.url);
  const bundledAt = modifiedAt(bundled);
  return readdirSync(packages).every((name) => modifiedAt(new URL(`${name}/dist/.tsbuildinfo`, packages)) < bundledAt);
}
