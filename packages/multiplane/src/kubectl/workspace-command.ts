import { homedir } from 'node:os';
import { Command } from 'commander';
import { createContext, current, tree, use } from '../kubectl-ws/commands.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';
import { createCommand } from './create-command.ts';

const homeNote =
  "Note: 'kubectl ws' now matches 'cd' semantics: go to home workspace. 'kubectl ws -' to go back. 'kubectl ws .' to print current workspace.";

/** `kubectl ws` and `kubectl kcp workspace` (C13.2, C13.3): with a workspace as argument it goes there. */
export function workspaceCommand(name: string): Command {
  const command = addCommonFlags(
    new Command(name)
      .description('Shows the current workspace and moves between workspaces.')
      .usage(
        '[<workspace> | .. | - | . | ~ | :root:a:b] [flags]\n       ' +
          name +
          ' [use|create|current|tree|create-context]',
      )
      .argument(
        '[workspaces...]',
        "a workspace below this one, '..', '-' (back), '.' (show), ':root:a' (absolute), '~' (home)",
      )
      .option('--short', 'print the path alone')
      .option('-i, --interactive', 'choose a workspace in a tree'),
  );
  const goTo = async (workspaces: readonly string[]): Promise<void> => {
    if (isInteractive(command)) {
      if (workspaces.length > 0) throw new Error('interactive mode does not accept arguments');
      return browseTree(command);
    }
    // More than one leads nowhere: what can be done is told instead.
    if (workspaces.length > 1) return command.outputHelp();
    await withServer(command, async (modules) => {
      if (workspaces.length === 0) modules.err(homeNote);
      await use(withoutHome(workspaces[0] ?? '~'), isShort(command), modules);
    });
  };
  command.action(goTo);
  command.addCommand(
    addCommonFlags(new Command('use').argument('[workspaces...]').description('go to a workspace').action(goTo)),
  );
  command.addCommand(createCommand('create', { isDeprecated: true }));

  const drawn = addWorkspaceFlag(addCommonFlags(new Command('tree')))
    .description('draw the workspaces below the current one')
    .option('-f, --full', 'with whole paths')
    .option('--wide', 'with the phases of workspace and logical cluster')
    .option('-i, --interactive', 'walk through it, and go to one of them');
  command.addCommand(
    drawn.action((flags: { readonly full?: boolean; readonly wide?: boolean }) =>
      isInteractive(drawn)
        ? browseTree(drawn)
        : withServer(drawn, (modules) => tree({ full: flags.full === true, wide: flags.wide === true }, modules)),
    ),
  );
  const shown = addCommonFlags(new Command('current'))
    .description('print the current workspace')
    .option('--short', 'print the path alone');
  command.addCommand(shown.action(() => withServer(shown, (modules) => current(isShort(shown), modules))));
  const kept = addCommonFlags(new Command('create-context'))
    .description('keep the current workspace as a context of its own')
    .argument('[name]', 'name of the context; without one, the path of the workspace')
    .option('--overwrite', 'replace a context of that name');
  command.addCommand(
    kept.action((context: string | undefined, flags: { readonly overwrite?: boolean }) =>
      withServer(kept, (modules) => createContext(context, flags.overwrite === true, modules)),
    ),
  );
  return command;
}

const isShort = (command: Command): boolean => command.optsWithGlobals<{ readonly short?: boolean }>().short === true;

const isInteractive = (command: Command): boolean =>
  command.optsWithGlobals<{ readonly interactive?: boolean }>().interactive === true;

async function browseTree(command: Command): Promise<void> {
  const { browse } = await import('../kubectl-ws/browse.ts');
  await withServer(command, (modules) => browse(modules, { input: process.stdin, output: process.stdout }));
}

/** A shell has already replaced `~` by the home directory. */
function withoutHome(argument: string): string {
  const home = homedir();
  return argument === home || argument.startsWith(`${home}/`) ? `~${argument.slice(home.length)}` : argument;
}
