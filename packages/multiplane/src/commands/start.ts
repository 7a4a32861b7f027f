import type { Command } from '@multiplane/component-base';
import { completeShardOptions, runShard, shardOptionSections, shardOptionTable } from '@multiplane/shard';
import { serverCommand, type Environment } from './server-command.ts';

/** Everything in one process. */
export const startCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: shardOptionSections,
      table: shardOptionTable,
      complete: completeShardOptions,
      run: runShard,
    },
    environment,
  );
