import type { OptionSpec, OptionTable } from './option-table.ts';
import type { Program, SubCommand } from './run-command.ts';

/** A word that can be typed, with what it means. */
export interface CompletedWord {
  readonly word: string;
  readonly description?: string | undefined;
}

/** Names that a server knows. Undefined: the flag takes no names, and the shell completes files. */
export type FlagNames = (
  flag: string,
  prefix: string,
  flags: ReadonlyMap<string, string>,
) => Promise<readonly CompletedWord[] | undefined>;

/**
 * Completes the last of the words after a program: sub-commands, flags, values of flags. Undefined: the word is a file, as far
 * as the program knows.
 */
export async function completeWords(
  program: Pick<Program, 'commands'>,
  words: readonly string[],
  names: FlagNames,
): Promise<readonly CompletedWord[] | undefined> {
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  let { commands } = program;
  while (before.length > 0) {
    const name = before.shift();
    const found = commands.find((candidate) => candidate.name === name);
    if (found === undefined) return [];
    const loaded = await found.load();
    if (!('commands' in loaded)) return completeFlags(loaded.help.sections, before, word, names);
    ({ commands } = loaded);
  }
  return startingWith(word, commands.map(wordOf));
}

const wordOf = ({ name, summary }: SubCommand): CompletedWord => ({ word: name, description: summary });

const startingWith = (prefix: string, words: readonly CompletedWord[]): CompletedWord[] =>
  words.filter(({ word }) => word.startsWith(prefix));

async function completeFlags(
  sections: Readonly<Record<string, OptionTable>>,
  before: readonly string[],
  word: string,
  names: FlagNames,
): Promise<readonly CompletedWord[] | undefined> {
  const specs = new Map(Object.values(sections).flatMap((table) => Object.entries(table)));
  const flags = new Map<string, string>();
  let open: string | undefined;
  for (const each of before) {
    const [, name = '', value] = /^--([^=]+)(?:=(.*))?$/s.exec(each) ?? [];
    if (open !== undefined) {
      flags.set(open, each);
      open = undefined;
    } else if (value !== undefined) flags.set(name, value);
    else if (takesValue(specs.get(name))) open = name;
  }
  const valuesOf = async (flag: string, prefix: string): Promise<readonly CompletedWord[] | undefined> => {
    const spec = specs.get(flag);
    const choices =
      spec?.type === 'text' && spec.choices !== undefined
        ? spec.choices
        : spec?.type === 'boolean'
          ? ['true', 'false']
          : undefined;
    const words = choices?.map((choice) => ({ word: choice })) ?? (await names(flag, prefix, flags));
    return words === undefined ? undefined : startingWith(prefix, words);
  };
  if (open !== undefined) return valuesOf(open, word);
  const [, flag, value] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
  if (flag !== undefined && value !== undefined)
    return (await valuesOf(flag, value))?.map((each) => ({ ...each, word: `--${flag}=${each.word}` }));
  if (!word.startsWith('-')) return undefined;
  const all = Array.from(specs, ([name, { description }]) => ({ word: `--${name}`, description }));
  return startingWith(word, [...all, { word: '--help', description: 'Show the flags.' }]);
}

const takesValue = (spec: OptionSpec | undefined): boolean => spec !== undefined && spec.type !== 'boolean';
