/**
 * The flags of a server: type, default and description. The parser, the environment variables, `--help` and the TypeScript
 * type of the values are derived from it.
 */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

interface CommonOption {
  /** For `--help`; a whole sentence. */
  readonly description: string;
  /** Older names of the flag that still work. */
  readonly aliases?: readonly string[] | undefined;
  /** One letter, for `-v 4`. */
  readonly short?: string | undefined;
}

export interface TextOption extends CommonOption {
  readonly type: 'text';
  /** Without it the value is undefined unless the flag is given. */
  readonly default?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}
/** A whole number. */
export interface NumberOption extends CommonOption {
  readonly type: 'number';
  readonly default?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** 0 is accepted below the minimum, with the meaning that the description gives it. */
  readonly allowsZero?: true | undefined;
}
/** 24 days. Node's timers end at once when they are set to more than 2^31 ms, which is less than 25 days. */
export const longestTimer = '576h';

export interface BooleanOption extends CommonOption {
  readonly type: 'boolean';
  readonly default: boolean;
}
/** A Go duration: `1h30m`, `500ms`. The value is in milliseconds. */
export interface DurationOption extends CommonOption {
  readonly type: 'duration';
  readonly default: string;
  /** A Go duration; `0s` by default. */
  readonly min?: string | undefined;
  /** A Go duration; {@link longestTimer} by default. */
  readonly max?: string | undefined;
  /** As for {@link NumberOption}. */
  readonly allowsZero?: true | undefined;
}
/** Comma-separated; repeated flags are concatenated. */
export interface ListOption extends CommonOption {
  readonly type: 'list';
  readonly default?: readonly string[] | undefined;
}
/** `a=b,c=d`; repeated flags are merged. */
export interface MapOption extends CommonOption {
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

/** The property name of a flag. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z\d])/g, (_match, letter: string) => letter.toUpperCase());
}

/** The environment variable of a flag. */
export function environmentName(name: string): string {
  return `MULTIPLANE_${name.toUpperCase().replaceAll('-', '_')}`;
}
