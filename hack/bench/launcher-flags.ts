import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');

/** Node's flags that `bin/multiplane` gives to every command: for what is measured without it. */
export function launcherFlags(): string[] {
  const flags = /^flags='(.+)'$/m.exec(readFileSync(launcher, 'utf8'))?.[1];
  if (flags === undefined) throw new Error(`${launcher} sets no flags any more`);
  return flags.split(' ');
}
