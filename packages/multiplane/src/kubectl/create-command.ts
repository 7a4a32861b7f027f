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

/** `kubectl create workspace <name>` (C13.4). */
export function createCommand(name: string, options: { readonly isDeprecated?: boolean } = {}): Command {
  const command = new Command(name)
    .description('create a workspace and wait until it is ready')
    .argument('[names...]', 'the name of the workspace')
    .option('--type <type>', 'its type, <name> or <path>:<name>; without one, what the parent prefers')
    .option('--enter', 'go there afterwards')
    .option('--ignore-existing', 'do not fail when it is already there, with the same type')
    .option('--location-selector <labels>', 'labels that the shard it is made on must have')
    .option('--create-context <context>', 'keep it as a context of this name in the kubeconfig');
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
