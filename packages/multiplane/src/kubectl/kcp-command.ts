import { Command } from 'commander';
import { version } from '../version.ts';
import { bindCommand } from './bind-command.ts';
import { claimsCommand } from './claims-command.ts';
import { crdSnapshotCommand } from './crd-snapshot-command.ts';
import { quickstartCommand } from './quickstart-command.ts';
import type { ErrorPrefix } from './run-plugin.ts';
import { workspaceCommand } from './workspace-command.ts';

const workspaceNames = ['workspace', 'ws', 'workspaces'] as const;

/** `kubectl kcp`: everything that the other plugins do, and what is about APIs (C13.1). */
export function kcpCommand(): Command {
  const [name, ...aliases] = workspaceNames;
  const command = new Command('kubectl-kcp')
    .description('Workspaces, and APIs between them.')
    .version(version)
    .addCommand(workspaceCommand(name).aliases(aliases))
    .addCommand(bindCommand())
    .addCommand(claimsCommand())
    .addCommand(group('crd', 'definitions of APIs').addCommand(crdSnapshotCommand()))
    .addCommand(quickstartCommand());
  return command.action(() => command.outputHelp());
}

/** A command that only holds others: alone it tells which. */
function group(name: string, description: string): Command {
  const command = new Command(name).description(description);
  return command.action(() => command.outputHelp());
}

/** Commands about workspaces begin their errors with a capital. */
export const errorPrefixOf = ([first]: readonly string[]): ErrorPrefix =>
  workspaceNames.some((name) => name === first) ? 'Error' : 'error';
