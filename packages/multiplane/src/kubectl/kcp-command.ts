import type { Command } from 'commander';
import { version } from '../version.ts';
import { bindCommand } from './bind-command.ts';
import { claimsCommand } from './claims-command.ts';
import { crdSnapshotCommand } from './crd-snapshot-command.ts';
import { doctorCommand } from './doctor-command.ts';
import { groupCommand } from './group-command.ts';
import { initProviderCommand } from './init-command.ts';
import { quickstartCommand } from './quickstart-command.ts';
import type { ErrorPrefix } from './run-plugin.ts';
import { scopesCommand } from './scopes-command.ts';
import { versionCommand } from './version-command.ts';
import { workspaceCommand } from './workspace-command.ts';

const workspaceNames = ['workspace', 'ws', 'workspaces'] as const;

/** `kubectl kcp`: the workspace commands and those for APIs. */
export function kcpCommand(): Command {
  const [name, ...aliases] = workspaceNames;
  return groupCommand('kubectl-kcp', 'kubectl kcp', 'Manage workspaces and the APIs that they share.')
    .version(version)
    .addCommand(workspaceCommand(name).aliases(aliases))
    .addCommand(bindCommand())
    .addCommand(claimsCommand())
    .addCommand(scopesCommand())
    .addCommand(groupCommand('crd', 'kubectl kcp crd', 'CustomResourceDefinitions').addCommand(crdSnapshotCommand()))
    .addCommand(groupCommand('init', 'kubectl kcp init', 'Projects of providers').addCommand(initProviderCommand()))
    .addCommand(quickstartCommand())
    .addCommand(doctorCommand())
    .addCommand(versionCommand());
}

/** As in kcp, workspace commands print `Error:`, the others `error:`. */
export const errorPrefixOf = ([first]: readonly string[]): ErrorPrefix =>
  workspaceNames.some((name) => name === first) ? 'Error' : 'error';
