import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/**
 * The `multiplane` command: that of the project in `folder`, where npm links the commands of its dependencies, or one on the
 * PATH. Throws when there is none.
 */
export function findCommand({ folder, path }: { readonly folder: string; readonly path: string }): string {
  const above: string[] = [];
  for (let at = folder, last = ''; at !== last; last = at, at = dirname(at))
    above.push(join(at, 'node_modules', '.bin'));
  const folders = [...above, ...path.split(delimiter).filter((entry) => entry !== '')];
  const found = folders.map((one) => join(one, 'multiplane')).find((file) => existsSync(file));
  if (found === undefined)
    throw new Error(
      `the command multiplane is neither in node_modules/.bin of ${folder} or above, nor on the PATH: install it, or name it with the option command`,
    );
  return found;
}
