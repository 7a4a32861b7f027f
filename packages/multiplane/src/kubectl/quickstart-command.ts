import { Command } from 'commander';
import { parseDuration } from '@multiplane/component-base';
import type { QuickstartFlags } from '../kubectl-kcp/quickstart-scenario.ts';
import { quickstart, scenarioOf } from '../kubectl-kcp/quickstart.ts';
import { addCommonFlags, integer, withServer } from './options.ts';

/** `kubectl kcp quickstart`. */
export function quickstartCommand(): Command {
  const command = addCommonFlags(new Command('quickstart'))
    .description('create sample workspaces with an API and a binding, or delete them')
    .option('--scenario <scenario>', 'api-provider or workspaces', 'api-provider')
    .option('--name-prefix <prefix>', 'prefix of the workspace names', 'quickstart')
    .option('--cleanup', 'delete the workspaces of an earlier run')
    .option('--enter', 'switch to the consumer workspace, or to the organization')
    .option('--with-samples', 'create sample objects')
    .option('--timeout <duration>', 'overall timeout', '10m')
    .option('--tree-depth <levels>', '[workspaces] depth of the tree below the organization', integer, 3)
    .option('--tree-count <number>', '[workspaces] number of workspaces in the tree', integer, 50)
    .option('--tree-seed <number>', '[workspaces] seed of the random tree; 0: current time', integer, 0)
    .addHelpText(
      'after',
      `
Scenarios:
  api-provider  an organization with a workspace that exports an API (cowboys) and one that binds it
  workspaces    an organization with a random tree of workspaces`,
    );
  return command.action(async ({ timeout, ...rest }: Omit<QuickstartFlags, 'timeoutMs'> & { timeout: string }) => {
    const flags = { ...rest, timeoutMs: parseDuration(timeout) };
    scenarioOf(flags);
    await withServer(command, (modules) => quickstart(flags, modules));
  });
}
