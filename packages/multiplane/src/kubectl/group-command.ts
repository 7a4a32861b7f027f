import { Command } from 'commander';
import { suggestionText } from '@multiplane/component-base';

/**
 * A command with sub-commands only. Alone it prints help; an unknown sub-command is an error with the similar ones.
 *
 * @param path - the command as it is typed, for errors
 */
export function groupCommand(name: string, path: string, description: string): Command {
  const command = new Command(name).description(description).argument('[command...]').usage('[command] [flags]');
  return command.action((words: readonly string[]) => {
    const [unknown] = words;
    if (unknown === undefined) return command.outputHelp();
    const names = command.commands.flatMap((each) => [each.name(), ...each.aliases()]);
    throw new Error(
      `unknown command ${JSON.stringify(unknown)} for ${JSON.stringify(path)}; see ${path} --help${suggestionText(unknown, names)}`,
    );
  });
}
