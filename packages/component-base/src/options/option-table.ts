/**
 * Options are one table per server: type, default and description of every flag. From it come the parser, the
 * environment variables, `--help` and the TypeScript type of the result.
 */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

interface Described {
  /** For `--help`; a whole sentence. */
  readonly description: string;
  /** Left out of `--help`. */
  readonly hidden?: boolean | undefined;
  /** Older names of the flag that still work. */
  readonly aliases?: readonly string[] | undefined;
  /** One letter, for `-v 4`. */
  readonly short?: string | undefined;
}

export interface TextOption extends Described {
  readonly type: 'text';
  /** Undefined when the flag was not given and there is no default. */
  readonly default?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}
export interface NumberOption extends Described {
  readonly type: 'number';
  readonly default?: number | undefined;
  /** A port is checked to be one. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}
export interface BooleanOption extends Described {
  readonly type: 'boolean';
  readonly default: boolean;
}
/** As Go writes durations: `1h30m`, `500ms`. The value is in milliseconds. */
export interface DurationOption extends Described {
  readonly type: 'duration';
  readonly default: string;
}
/** Comma-separated, and may be given several times. */
export interface ListOption extends Described {
  readonly type: 'list';
  readonly default?: readonly string[] | undefined;
}
/** `a=b,c=d`, and may be given several times. */
export interface MapOption extends Described {
  readonly type: 'map';
  readonly default?: Readonly<Record<string, string>> | undefined;
}

export type OptionSpec = TextOption | NumberOption | BooleanOption | DurationOption | ListOption | MapOption;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type Optional<Spec, Value> = Spec extends { readonly default: string | number } ? Value : Value | undefined;

type OptionValue<Spec extends OptionSpec> = Spec extends TextOption
  ? Optional<Spec, Spec extends { readonly choices: readonly (infer Choice)[] } ? Choice : string>
  : Spec extends NumberOption
    ? Optional<Spec, number>
    : Spec extends BooleanOption
      ? boolean
      : Spec extends DurationOption
        ? number
        : Spec extends ListOption
          ? readonly string[]
          : Readonly<Record<string, string>>;

/** The values of a table: `root-directory` becomes `rootDirectory`. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table & string as CamelCase<Name>]: OptionValue<Table[Name]>;
};

/** A flag's name as a property. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z\d])/g, (_match, letter: string) => letter.toUpperCase());
}

/** A flag's name as an environment variable. */
export function environmentName(name: string): string {
  return `MULTIPLANE_${name.toUpperCase().replaceAll('-', '_')}`;
}
