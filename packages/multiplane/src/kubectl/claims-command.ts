import { Command } from 'commander';
import { getClaims, setClaims } from '../kubectl-kcp/claims.ts';
import type { ClaimFilter, ClaimState } from '../kubectl-kcp/permission-claims.ts';
import { completeArgument } from './completion/completed-names.ts';
import { groupCommand } from './group-command.ts';
import { addCommonFlags, addWorkspaceFlag, withServer } from './options.ts';

/** `kubectl kcp claims get|show|accept|reject`. */
export function claimsCommand(): Command {
  const claims = groupCommand(
    'claims',
    'kubectl kcp claims',
    'show, accept or reject permission claims of APIBindings',
  ).addHelpText(
    'after',
    `
Examples:
  kubectl kcp claims get apibinding
  kubectl kcp claims show cert-manager --preview
  kubectl kcp claims accept cert-manager --resource secrets.core
  kubectl kcp claims reject cert-manager`,
  );
  const get = groupCommand('get', 'kubectl kcp claims get', 'show claims');
  const ofBinding = addWorkspaceFlag(addCommonFlags(new Command('apibinding')))
    .description('list the permission claims of an APIBinding and their state')
    .argument('[name]', 'the APIBinding; default: all of the workspace');
  completeArgument(ofBinding, 'apibinding').action((name: string | undefined) =>
    withServer(ofBinding, (modules) => getClaims(name, modules)),
  );
  const show = addWorkspaceFlag(addCommonFlags(new Command('show')))
    .description('say what the claims of APIBindings are for, and with --preview for which objects now')
    .argument('[name]', 'the APIBinding; default: all of the workspace')
    .option('--preview', 'list the objects that each claim is for, also of claims that are not accepted');
  completeArgument(show, 'apibinding').action((name: string | undefined, options: { readonly preview?: boolean }) =>
    withServer(show, async (modules) => {
      // Other commands start without the kinds of the servers.
      const { showClaims } = await import('../kubectl-kcp/show-claims.ts');
      await showClaims(name, options, modules);
    }),
  );
  return claims
    .addCommand(show)
    .addCommand(get.addCommand(ofBinding))
    .addCommand(stateCommand('accept', 'Accepted'))
    .addCommand(stateCommand('reject', 'Rejected'));
}

function stateCommand(verb: 'accept' | 'reject', state: ClaimState): Command {
  const command = addWorkspaceFlag(addCommonFlags(new Command(verb)))
    .description(`${verb} permission claims of an APIBinding: all of them, or the selected ones`)
    .argument('[name]', 'the APIBinding')
    .option('--resource <resource>', 'the claim on this resource, as resource.group (core for none)')
    .option('--identity-hash <hash>', 'the claim on resources of the export with this identity');
  return completeArgument(command, 'apibinding').action(async (name: string | undefined, filter: ClaimFilter) => {
    if (name === undefined || name === '') throw new Error('error APIBinding name is missing');
    await withServer(command, (modules) => setClaims(name, filter, state, modules));
  });
}
