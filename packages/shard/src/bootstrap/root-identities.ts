import { readFileSync } from 'node:fs';
import { isJsonObject, parseYaml } from '@multiplane/apimachinery';
import { OptionError } from '@multiplane/component-base';

/**
 * Reads `--root-identities-file` (C12.1, C12.8): keys behind the identities of root's exports, for an installation that has
 * to have the same ones as another. They count where an export has none yet.
 */
export function readRootIdentities(file: string | undefined): ReadonlyMap<string, string> {
  const identities = new Map<string, string>();
  if (file === undefined) return identities;
  let entries: unknown;
  try {
    const document = parseYaml(readFileSync(file, 'utf8'));
    entries = isJsonObject(document) ? document['identities'] : undefined;
  } catch (cause) {
    throw new OptionError(`--root-identities-file: ${file} cannot be read`, { cause });
  }
  if (!Array.isArray(entries)) throw new OptionError(`--root-identities-file: ${file} has no list "identities"`);
  for (const [at, entry] of entries.entries()) {
    const { export: name, identity } = isJsonObject(entry) ? entry : {};
    if (typeof name !== 'string' || name === '' || typeof identity !== 'string' || identity === '')
      throw new OptionError(`--root-identities-file: identities[${at}] needs "export" and "identity"`);
    identities.set(name, identity);
  }
  return identities;
}
