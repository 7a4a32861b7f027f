import type { Command } from 'commander';
import { complete, type NameSource } from './complete.ts';

/** The argument by which shells ask for completions, as cobra's. */
export const completionArgument = '__complete';

/** Prints the completions of the last word in the form of cobra: a word per line with its description, then the directive. */
export async function runCompletion(
  program: Command,
  words: readonly string[],
  modules: { readonly source: NameSource; readonly out: (text: string) => void },
): Promise<void> {
  const { candidates, directive } = await complete(program, words, modules.source);
  const lines = candidates.map(({ word, description = '' }) =>
    description === '' ? word : `${word}\t${description.replaceAll(/\s+/g, ' ')}`,
  );
  modules.out([...lines, `:${directive}`, ''].join('\n'));
}
