import { Command } from 'commander';
import { parseDuration } from '@multiplane/component-base';
import { bindApiExport, parseBindRequest, type BindFlags } from '../kubectl-kcp/bind-api-export.ts';
import { bindNativeKinds } from '../kubectl-kcp/bind-native-kinds.ts';
import { completeArgument } from './completion/completed-names.ts';
import { groupCommand } from './group-command.ts';
import { addCommonFlags, addWorkspaceFlag, commaSeparated, withServer } from './options.ts';

/** `kubectl kcp bind apiexport <path:name>` and `kubectl kcp bind native-kinds`. */
export function bindCommand(): Command {
  const bind = groupCommand('bind', 'kubectl kcp bind', 'bind APIs into the current workspace');
  const command = addWorkspaceFlag(addCommonFlags(new Command('apiexport')))
    .description('bind the APIs of an APIExport')
    .argument('[reference]', 'the APIExport, as <workspace path>:<name>')
    // kcp's plugin ignores further arguments; its examples give the name of the export again.
    .argument('[ignored...]', 'ignored, as by the plugin of kcp')
    .option('--name <name>', 'name of the APIBinding; default: the name of the export')
    .option('--timeout <duration>', 'how long to wait for the binding', '30s')
    .option(
      '--accept-permission-claim <claims>',
      'permission claims to accept, as resource.group (group core for none); comma-separated or repeated',
      commaSeparated,
    )
    .option('--reject-permission-claim <claims>', 'permission claims to reject, in the same form', commaSeparated)
    .option('--accept-all-permission-claims', 'accept all permission claims of the export')
    .option('--reject-all-permission-claims', 'reject all permission claims of the export')
    .addHelpText(
      'after',
      `
Examples:
  kubectl kcp bind apiexport root:my-service:my-export
  kubectl kcp bind apiexport root:my-service:my-export --name mine --accept-permission-claim secrets.core,configmaps.core`,
    );
  type Flags = Omit<BindFlags, 'timeoutMs'> & { readonly timeout: string };
  completeArgument(command, 'export reference').action(
    async (reference: string | undefined, _ignored: readonly string[], flags: Flags) => {
      const request = parseBindRequest(reference, { ...flags, timeoutMs: parseDuration(flags.timeout) });
      await withServer(command, (modules) => bindApiExport(request, modules));
    },
  );
  return bind.addCommand(command).addCommand(nativeKindsCommand());
}

function nativeKindsCommand(): Command {
  const command = addWorkspaceFlag(addCommonFlags(new Command('native-kinds')))
    .description("bind Kubernetes' own kinds, such as deployments and services; nothing runs them")
    .option(
      '--group <groups>',
      'API groups, core for pods and services; comma-separated or repeated; default: all',
      commaSeparated,
    )
    .option('--timeout <duration>', 'how long to wait for the bindings', '30s')
    .addHelpText(
      'after',
      `
Examples:
  kubectl kcp bind native-kinds
  kubectl kcp bind native-kinds --group core,apps`,
    );
  return command.action(
    async ({ group = [], timeout }: { readonly group?: readonly string[]; readonly timeout: string }) => {
      const request = { groups: group, timeoutMs: parseDuration(timeout) };
      await withServer(command, (modules) => bindNativeKinds(request, modules));
    },
  );
}
