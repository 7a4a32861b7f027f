import { join, resolve } from 'node:path';
import type { parseArgs, ParseArgsConfig } from 'node:util';

export type Profile = 'sharded' | 'all-in-one';

/** What the commands that run suites of compiled Go tests are told. */
export interface SuiteArguments {
  /** Folder of the compiled tests. */
  readonly binaries: string;
  readonly sources: string;
  readonly profile: Profile;
  /** A regular expression: only these tests. */
  readonly run: string | undefined;
  readonly parallel: number;
  readonly minutes: number;
  /** Folder of the logs. */
  readonly out: string;
  /** Without names all of them. */
  readonly packages: readonly string[];
}

/** Flags of all these commands, as their usage lists them. */
export const suiteUsage = `  --profile NAME       sharded (the default), or all-in-one
  --run REGEX          only these tests
  --parallel N         tests at the same time within a package (2)
  --minutes N          a package that takes longer has failed (15)`;

/** The same for parseArgs. */
export const suiteFlags = {
  binaries: { type: 'string' },
  sources: { type: 'string' },
  profile: { type: 'string', default: 'sharded' },
  run: { type: 'string' },
  parallel: { type: 'string', default: '2' },
  minutes: { type: 'string', default: '15' },
  out: { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

type Values = ReturnType<typeof parseArgs<{ options: typeof suiteFlags }>>['values'];

function positive(flag: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--${flag} ${JSON.stringify(text)}: expected a positive number`);
  return Number(text);
}

/** `name`: of the folder of the logs in `.cache/upstream`. Throws what is wrong with the flags. */
export function suiteArguments(values: Values, packages: readonly string[], name: string): SuiteArguments {
  const { binaries, sources, profile, run, parallel, minutes, out } = values;
  if (sources === undefined) throw new Error('--sources is required');
  if (binaries === undefined) throw new Error('--binaries is required');
  if (profile !== 'sharded' && profile !== 'all-in-one')
    throw new Error(`--profile ${JSON.stringify(profile)}: expected sharded or all-in-one`);
  return {
    binaries: resolve(binaries),
    sources: resolve(sources),
    profile,
    run,
    parallel: positive('parallel', parallel),
    minutes: positive('minutes', minutes),
    out: resolve(out ?? join(import.meta.dirname, '..', '..', '.cache', 'upstream', `${name}-${profile}`)),
    packages,
  };
}
