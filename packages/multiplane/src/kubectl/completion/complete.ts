import type { Command, Option } from 'commander';
import { argumentNames, optionNames, type NameKind } from './completed-names.ts';

/** A word that can be typed, with what it means. */
export interface Candidate {
  readonly word: string;
  readonly description?: string | undefined;
}

/** Bits of cobra's ShellCompDirective. */
export const noSpace = 2;
export const noFiles = 4;

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** The sum of cobra's bits; 0: the shell completes files. */
  readonly directive: number;
}

export interface NameSource {
  /** Names that begin with a text. Flags are those typed before, by attribute name. */
  names(kind: Exclude<NameKind, 'file'>, prefix: string, flags: Readonly<Record<string, unknown>>): Promise<Completion>;
}

interface Position {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The flag whose value is completed. */
  readonly option: Option | undefined;
  readonly flags: Readonly<Record<string, unknown>>;
}

/**
 * Completes the last of the words after a command, as cobra's `__complete` does: sub-commands, flags, values of flags and
 * names of objects.
 */
export async function complete(program: Command, words: readonly string[], source: NameSource): Promise<Completion> {
  const word = words.at(-1) ?? '';
  const position = positionOf(program, words.slice(0, -1));
  const { command, operands, option, flags } = position;
  const namesOf = (kind: NameKind | undefined, prefix: string): Promise<Completion> | Completion =>
    kind === undefined ? none : kind === 'file' ? { candidates: [], directive: 0 } : source.names(kind, prefix, flags);
  const valuesOf = async (each: Option, prefix: string): Promise<Completion> =>
    each.argChoices === undefined
      ? namesOf(optionNames(each), prefix)
      : startingWith(
          prefix,
          each.argChoices.map((choice) => ({ word: choice })),
        );
  if (option !== undefined) return valuesOf(option, word);
  const [, flag = '', value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (value !== undefined) {
    const given = optionOf(command, flag);
    if (given === undefined) return none;
    const { candidates, directive } = await valuesOf(given, value);
    return { candidates: candidates.map((each) => ({ ...each, word: `${flag}=${each.word}` })), directive };
  }
  if (word.startsWith('-')) return startingWith(word, flagsOf(command));
  const subCommands =
    operands.length > 0 ? [] : command.commands.map((each) => ({ word: each.name(), description: each.description() }));
  const names = operands.length > 0 ? none : await namesOf(argumentNames(command), word);
  const own = startingWith(word, subCommands);
  return { candidates: [...own.candidates, ...names.candidates], directive: names.directive };
}

const none: Completion = { candidates: [], directive: noFiles };

const startingWith = (prefix: string, candidates: readonly Candidate[]): Completion => ({
  candidates: candidates.filter(({ word }) => word.startsWith(prefix)),
  directive: noFiles,
});

function positionOf(program: Command, words: readonly string[]): Position {
  let command = program;
  let option: Option | undefined;
  const operands: string[] = [];
  const flags: Record<string, unknown> = {};
  for (const word of words) {
    if (option !== undefined) {
      flags[option.attributeName()] = word;
      option = undefined;
    } else if (word.startsWith('-') && word !== '-') {
      const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
      const found = optionOf(command, name);
      const takesValue = found?.required === true || found?.optional === true;
      if (found !== undefined && takesValue && value === undefined) option = found;
      else if (found !== undefined) flags[found.attributeName()] = takesValue ? value : true;
    } else {
      const inner = operands.length > 0 ? undefined : command.commands.find((each) => isNamed(each, word));
      if (inner === undefined) operands.push(word);
      else command = inner;
    }
  }
  return { command, operands, option, flags };
}

const isNamed = (command: Command, name: string): boolean =>
  command.name() === name || command.aliases().includes(name);

const optionOf = (command: Command, flag: string): Option | undefined =>
  command.options.find(({ long, short }) => flag !== '' && (long === flag || short === flag));

function flagsOf(command: Command): Candidate[] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long, short, description }) => ({ word: long ?? short ?? '', description }));
}
