import { embedCacheServer } from '@multiplane/cache-server';
import type { Command } from '@multiplane/component-base';
import {
  completeShardOptions,
  runShard,
  shardOptionSections,
  shardOptionTable,
  type ShardModules,
  type ShardOptions,
} from '@multiplane/shard';
import { natsTargetOf } from '@multiplane/storage';
import { embedVirtualWorkspaces } from '@multiplane/virtual-workspaces';
import { serverCommand, type Environment } from './server-command.ts';

/** `multiplane start` and `shard`: a shard, and in the same process the servers that its flags do not name. */
export const startCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: shardOptionSections,
      table: shardOptionTable,
      complete: completeShardOptions,
      run: (options, modules) => runShard(options, { ...modules, embedded: embeddedServers(options, modules.version) }),
    },
    environment,
  );

type EmbeddedServers = NonNullable<ShardModules['embedded']>;

function embeddedServers(options: ShardOptions, version: string): EmbeddedServers {
  const storage = natsTargetOf(options) ?? (options.storageBackend === 'memory' ? 'memory' : 'file');
  return [
    ...(options.cacheKubeconfig === undefined ? [embedCacheServer({ version, storage })] : []),
    ...(options.runVirtualWorkspaces
      ? [
          embedVirtualWorkspaces({
            version,
            externalLogicalClusterAdminKubeconfig: options.externalLogicalClusterAdminKubeconfig,
            cacheApis: options.features.enabled('CacheAPIs'),
          }),
        ]
      : []),
  ];
}
