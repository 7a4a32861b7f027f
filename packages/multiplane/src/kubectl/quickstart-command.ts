import { Command } from 'commander';
import { parseDuration } from '@multiplane/component-base';
import type { QuickstartFlags } from '../kubectl-kcp/quickstart-scenario.ts';
import { quickstart, scenarioOf } from '../kubectl-kcp/quickstart.ts';
import { addCommonFlags, integer, withServer } from './options.ts';

/** `kubectl kcp quickstart` (C13.8). */
export function quickstartCommand(): Command {
  const command = addCommonFlags(new Command('quickstart'))
    .description('make workspaces, an API and a binding to look at, or take them down again')
    .option('--scenario <scenario>', 'api-provider or workspaces', 'api-provider')
    .option('--name-prefix <prefix>', 'what the names of the workspaces begin with', 'quickstart')
    .option('--cleanup', 'delete what an earlier run made')
    .option('--enter', 'go to the workspace of the consumer, or to the organization')
    .option('--with-samples', 'make sample objects, too')
    .option('--timeout <duration>', 'how long the whole may take', '10m')
    .option('--tree-depth <levels>', '[workspaces] depth of the tree below the organization', integer, 3)
    .option('--tree-count <number>', '[workspaces] how many workspaces the tree has', integer, 50)
    .option('--tree-seed <number>', '[workspaces] what the shape of the tree depends on; 0: the time', integer, 0)
    .addHelpText(
      'after',
      `
Scenarios:
  api-provider  an organization with a workspace that offers an API (cowboys) and one that has bound it
  workspaces    an organization with a random tree of workspaces`,
    );
  return command.action(async ({ timeout, ...rest }: Omit<QuickstartFlags, 'timeoutMs'> & { timeout: string }) => {
    const flags = { ...rest, timeoutMs: parseDuration(timeout) };
    scenarioOf(flags);
    await withServer(command, (modules) => quickstart(flags, modules));
  });
}
