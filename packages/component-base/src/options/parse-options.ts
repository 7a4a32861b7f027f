import { Command, CommanderError, Option } from 'commander';
import { type OptionSpec, type OptionTable, type OptionValues, camelCase, environmentName } from './option-table.ts';
import { OptionError, parseValue } from './parse-value.ts';

export interface ParseInput {
  /** Arguments after the sub-command's name. */
  readonly args: readonly string[];
  /** `MULTIPLANE_ROOT_DIRECTORY` is used unless `--root-directory` is given. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ParsedOptions<Table extends OptionTable> {
  readonly values: OptionValues<Table>;
  /** Positional arguments. */
  readonly operands: readonly string[];
  /** Names of the flags that were set, on the command line or by the environment. */
  readonly given: ReadonlySet<string>;
}

/** Parses flags as pflag does: `--flag value`, `--flag=value`, and `--flag` for true. Throws {@link OptionError}. */
export function parseOptions<const Table extends OptionTable>(
  table: Table,
  { args, environment = {} }: ParseInput,
): ParsedOptions<Table> {
  const values = defaults(table);
  const given = new Set<string>();
  const set = (name: string, spec: OptionSpec, text: string): void => {
    values[name] = parseValue(name, spec, text, given.has(name) ? values[name] : undefined);
    given.add(name);
  };

  for (const [name, spec] of Object.entries(table)) {
    const text = environment[environmentName(name)];
    if (text !== undefined) set(name, spec, text);
  }
  // A flag replaces the value of the environment, also for lists and maps, where repeated flags accumulate.
  const fromEnvironment = new Set(given);
  const command = commandFor(table, (name, spec, text) => {
    if (fromEnvironment.delete(name)) given.delete(name);
    set(name, spec, text);
  });
  try {
    command.parse(withBooleanValues(table, args), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw new OptionError(error.message.replace(/^error: /, ''), { cause: error });
    throw error;
  }
  const named = Object.entries(values).map(([name, value]) => [camelCase(name), value]);
  return { values: Object.fromEntries(named) as OptionValues<Table>, operands: command.args, given };
}

function defaults(table: OptionTable): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).map(([name, spec]) => {
      if (spec.type === 'duration') return [name, parseValue(name, spec, spec.default, undefined)];
      if (spec.type === 'list') return [name, spec.default ?? []];
      if (spec.type === 'map') return [name, spec.default ?? {}];
      return [name, spec.default];
    }),
  );
}

/** Commander only splits the arguments; defaults and conversions are those of the table. */
function commandFor(table: OptionTable, set: (name: string, spec: OptionSpec, text: string) => void): Command {
  const command = new Command()
    .exitOverride()
    .helpOption(false)
    .allowExcessArguments()
    .configureOutput({ writeErr: () => {} });
  for (const [name, spec] of Object.entries(table)) {
    for (const flag of [name, ...(spec.aliases ?? [])]) {
      const short = spec.short !== undefined && flag === name ? `-${spec.short}, ` : '';
      command.addOption(
        new Option(`${short}--${flag} <value>`).argParser((text: string) => {
          set(name, spec, text);
          return text;
        }),
      );
    }
  }
  return command;
}

/** As in pflag, a boolean flag takes no separate value: `--flag` is `--flag=true`. */
function withBooleanValues(table: OptionTable, args: readonly string[]): string[] {
  const booleans = new Set(
    Object.entries(table)
      .filter(([, spec]) => spec.type === 'boolean')
      .flatMap(([name, spec]) => [name, ...(spec.aliases ?? [])])
      .map((name) => `--${name}`),
  );
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.map((arg, index) => (index < end && booleans.has(arg) ? `${arg}=true` : arg));
}
