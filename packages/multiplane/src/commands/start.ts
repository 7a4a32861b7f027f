import type { Command } from '@multiplane/component-base';
import { completeShardOptions, runShard, shardOptionSections, shardOptionTable } from '@multiplane/shard';
import { embedVirtualWorkspaces } from '@multiplane/virtual-workspaces';
import { serverCommand, type Environment } from './server-command.ts';

/** Everything in one process. */
export const startCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: shardOptionSections,
      table: shardOptionTable,
      complete: completeShardOptions,
      run: (options, modules) =>
        runShard(options, { ...modules, embedded: [embedVirtualWorkspaces({ version: modules.version })] }),
    },
    environment,
  );
