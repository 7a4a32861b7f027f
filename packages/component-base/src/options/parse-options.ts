import { Command, CommanderError, Option } from 'commander';
import { type OptionSpec, type OptionTable, type OptionValues, camelCase, environmentName } from './option-table.ts';
import { OptionError, parseValue } from './parse-value.ts';

export interface ParseInput {
  /** What follows the sub-command's name. */
  readonly args: readonly string[];
  /** `MULTIPLANE_ROOT_DIRECTORY` stands for `--root-directory` where that is not given. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ParsedOptions<Table extends OptionTable> {
  readonly values: OptionValues<Table>;
  /** What is left beside the flags. */
  readonly operands: readonly string[];
  /** The flags that were given, by flag or by environment; the others have their default. */
  readonly given: ReadonlySet<string>;
}

/**
 * Reads flags as Go programs do: `--flag value`, `--flag=value`, and `--flag` alone for true.
 * Throws {@link OptionError} for what it does not understand.
 */
export function parseOptions<const Table extends OptionTable>(
  table: Table,
  { args, environment = {} }: ParseInput,
): ParsedOptions<Table> {
  const values = defaults(table);
  const given = new Set<string>();
  const take = (name: string, spec: OptionSpec, text: string): void => {
    values[name] = parseValue(name, spec, text, given.has(name) ? values[name] : undefined);
    given.add(name);
  };

  for (const [name, spec] of Object.entries(table)) {
    const text = environment[environmentName(name)];
    if (text !== undefined) take(name, spec, text);
  }
  // A flag replaces what the environment says, also where several flags would add up.
  const fromEnvironment = new Set(given);
  const command = commandFor(table, (name, spec, text) => {
    if (fromEnvironment.delete(name)) given.delete(name);
    take(name, spec, text);
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

/** Commander does the reading; values go through `take`, so that its own defaults and conversions stay out of it. */
function commandFor(table: OptionTable, take: (name: string, spec: OptionSpec, text: string) => void): Command {
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
          take(name, spec, text);
          return text;
        }),
      );
    }
  }
  return command;
}

/** Go takes no separate word as the value of a boolean flag: `--flag` is `--flag=true`. */
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
