import { Command } from 'commander';
import { create } from '../kubectl-ws/commands.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';

interface CreateFlags {
  readonly type?: string;
  readonly enter?: boolean;
  readonly ignoreExisting?: boolean;
  readonly locationSelector?: string;
  readonly createContext?: string;
}

/** `kubectl create workspace <name>`. */
export function createCommand(name: string, options: { readonly isDeprecated?: boolean } = {}): Command {
  const command = new Command(name)
    .description('create a workspace and wait until it is ready')
    .argument('[names...]', 'the name of the workspace')
    .option('--type <type>', 'workspace type, <name> or <path>:<name>; default: that of the parent')
    .option('--enter', 'switch to the workspace')
    .option('--ignore-existing', 'succeed when it exists with the same type')
    .option('--location-selector <labels>', 'label selector for its shard')
    .option('--create-context <context>', 'add a kubeconfig context of this name for it');
  addWorkspaceFlag(addCommonFlags(command));
  return command.action(async (names: readonly string[], flags: CreateFlags) => {
    if (names.length !== 1) throw new Error(`accepts 1 arg(s), received ${names.length}`);
    await withServer(command, async (modules) => {
      if (options.isDeprecated === true)
        modules.err(`Command "create" is deprecated, use 'kubectl create workspace' instead.`);
      await create(names[0] as string, flags, modules);
    });
  });
}
