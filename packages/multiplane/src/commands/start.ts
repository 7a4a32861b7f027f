import { embedCacheServer } from '@multiplane/cache-server';
import { readClientConfig } from '@multiplane/client';
import type { Command, OptionTable } from '@multiplane/component-base';
import {
  checkConsoleOptions,
  consoleOptionTable,
  createLoginLink,
  embedConsole,
  type ConsoleOptions,
} from '@multiplane/console';
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
import { serverCommand, type Environment, type ServerModules } from './server-command.ts';

/** `multiplane start` and `shard`: a shard, and in the same process the servers that its flags do not name. */
export const startCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: { ...shardOptionSections, Console: consoleOptions },
      table: { ...shardOptionTable, ...consoleOptions },
      complete: (values) => {
        if (values.console) checkConsoleOptions(values);
        return { ...values, ...completeShardOptions(values) };
      },
      run: (options, modules) =>
        runShard(options, {
          ...modules,
          embedded: embeddedServers(options, modules.version),
          onReady: () => {
            // A log that is collected would carry the link to whoever reads it.
            if (options.console && process.stderr.isTTY) void printLoginLink(options, modules);
          },
        }),
    },
    environment,
  );

type StartOptions = ShardOptions & ConsoleOptions & { readonly console: boolean };

const consoleOptions = {
  console: { type: 'boolean', default: true, description: 'Serve the web console below /console/.' },
  ...consoleOptionTable,
} as const satisfies OptionTable;

/** Prints the link by which the administrator of this terminal logs in to the console. */
async function printLoginLink({ kubeconfigPath }: StartOptions, { logger }: ServerModules): Promise<void> {
  try {
    const config = readClientConfig({ file: kubeconfigPath });
    const { url } = await createLoginLink({ consoleUrl: new URL(config.server).origin, config });
    process.stderr.write(`\nThe web console; this link logs you in once:\n\n  ${url}\n\n`);
  } catch (error) {
    logger.warn('failed to make a log-in link of the console', { error });
  }
}

type EmbeddedServers = NonNullable<ShardModules['embedded']>;

function embeddedServers(options: StartOptions, version: string): EmbeddedServers {
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
    ...(options.console ? [embedConsole({ ...options, version })] : []),
  ];
}
