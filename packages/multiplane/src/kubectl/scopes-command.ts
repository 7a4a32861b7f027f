import { Command } from 'commander';
import { showScopes } from '../kubectl-kcp/scopes.ts';
import { completeArgument } from './completion/completed-names.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';

/** `kubectl kcp scopes`. */
export function scopesCommand(): Command {
  const command = addWorkspaceFlag(addCommonFlags(new Command('scopes')))
    .description('list the APIExportScopes of a workspace: which provider sees which objects of an APIExport')
    .argument('[apiexport]', 'only scopes of this APIExport')
    .addHelpText('after', '\nExamples:\n  kubectl kcp scopes\n  kubectl kcp scopes marketplace');
  return completeArgument(command, 'apiexport').action((name: string | undefined) =>
    withServer(command, (modules) => showScopes(name, modules)),
  );
}
