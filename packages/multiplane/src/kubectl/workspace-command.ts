import { homedir } from 'node:os';
import { Command } from 'commander';
import { createContext, current, tree, use } from '../kubectl-ws/commands.ts';
import { listWorkspaces } from '../kubectl-ws/list-workspaces.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';
import { completeArgument } from './completion/completed-names.ts';
import { createCommand } from './create-command.ts';

const homeNote =
  "Note: 'kubectl ws' now matches 'cd' semantics: go to home workspace. 'kubectl ws -' to go back. 'kubectl ws .' to print current workspace.";

/** `kubectl ws` and `kubectl kcp workspace`; an argument is the workspace to switch to. */
export function workspaceCommand(name: string): Command {
  const command = addCommonFlags(
    new Command(name)
      .description('Shows the current workspace and switches between workspaces.')
      .usage(
        '[<workspace> | .. | - | . | ~ | :root:a:b] [flags]\n       ' +
          name +
          ' [use|list|create|current|tree|create-context]',
      )
      .argument(
        '[workspaces...]',
        "a child workspace, '..', '-' (previous), '.' (show), ':root:a' (absolute), '~' (home)",
      )
      .option('--short', 'print only the path')
      .option('-i, --interactive', 'select a workspace in a tree'),
  );
  const useWorkspace = async (workspaces: readonly string[]): Promise<void> => {
    if (isInteractive(command)) {
      if (workspaces.length > 0) throw new Error('interactive mode does not accept arguments');
      return browseTree(command);
    }
    // As kcp's plugin: help for more than one argument.
    if (workspaces.length > 1) return command.outputHelp();
    await withServer(command, async (modules) => {
      if (workspaces.length === 0) modules.err(homeNote);
      const names = command.commands.map((each) => each.name());
      await use(withoutHome(workspaces[0] ?? '~'), isShort(command), modules, names);
    });
  };
  completeArgument(command, 'workspace').action(useWorkspace);
  const useCommand = addCommonFlags(new Command('use'))
    .argument('[workspaces...]')
    .description('switch to a workspace');
  command.addCommand(completeArgument(useCommand, 'workspace').action(useWorkspace));
  command.addCommand(createCommand('create', { isDeprecated: true }));

  const listCommand = addWorkspaceFlag(addCommonFlags(new Command('list').alias('ls')))
    .description('list the child workspaces of the current one')
    .argument('[workspace]', 'list those of this workspace instead')
    .option('--short', 'print only the names');
  command.addCommand(
    completeArgument(listCommand, 'workspace').action((workspace: string | undefined) =>
      withServer(listCommand, (modules) => listWorkspaces({ workspace, short: isShort(listCommand) }, modules)),
    ),
  );

  const treeCommand = addWorkspaceFlag(addCommonFlags(new Command('tree')))
    .description('print the tree of workspaces below the current one')
    .option('-f, --full', 'print full paths')
    .option('--wide', 'print the phases of workspace and logical cluster')
    .option('-i, --interactive', 'browse the tree and select a workspace');
  command.addCommand(
    treeCommand.action((flags: { readonly full?: boolean; readonly wide?: boolean }) =>
      isInteractive(treeCommand)
        ? browseTree(treeCommand)
        : withServer(treeCommand, (modules) => tree({ full: flags.full === true, wide: flags.wide === true }, modules)),
    ),
  );
  const currentCommand = addCommonFlags(new Command('current'))
    .description('print the current workspace')
    .option('--short', 'print only the path');
  command.addCommand(
    currentCommand.action(() => withServer(currentCommand, (modules) => current(isShort(currentCommand), modules))),
  );
  const createContextCommand = addCommonFlags(new Command('create-context'))
    .description('create a kubeconfig context for the current workspace')
    .argument('[name]', 'name of the context; default: the workspace path')
    .option('--overwrite', 'replace an existing context');
  command.addCommand(
    createContextCommand.action((context: string | undefined, flags: { readonly overwrite?: boolean }) =>
      withServer(createContextCommand, (modules) => createContext(context, flags.overwrite === true, modules)),
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

/** The shell has replaced `~` by the home directory. */
function withoutHome(argument: string): string {
  const home = homedir();
  return argument === home || argument.startsWith(`${home}/`) ? `~${argument.slice(home.length)}` : argument;
}
