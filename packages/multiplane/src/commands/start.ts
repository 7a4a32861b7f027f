import { embedCacheServer } from '@multiplane/cache-server';
import { readClientConfig } from '@multiplane/client';
import type { Command, OptionTable, OptionValues } from '@multiplane/component-base';
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
import { givenTexts } from '../sharded/given-texts.ts';
import { readRecord, wantedShards } from '../sharded/root-directory.ts';
import { serverCommand, type Environment, type ServerModules } from './server-command.ts';

/** `multiplane shard`: a shard, and in the same process the servers that its flags do not name. */
export const shardCommand = (environment: Environment): Command =>
  serverCommand(
    { sections: shardSections, table: shardTable, complete: completeStartOptions, run: runOne },
    environment,
  );

/** `multiplane start`: the same, or with `--shards` everything as several processes. */
export const startCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: { Processes: processOptions, ...shardSections },
      table: startTable,
      complete: (values) => {
        const options = completeStartOptions(values);
        const existing = readRecord(options.rootDirectory)?.shards.length;
        return { ...options, values, shards: wantedShards(values.shards, existing) };
      },
      run: async (options, modules, given) => {
        const { shards, values } = options;
        if (shards === undefined) return runOne(options, modules);
        const { startSharded } = await import('../sharded/start-sharded.ts');
        const { execPath, execArgv, argv } = process;
        await startSharded(
          { ...options, shards, given: givenTexts(startTable, values, given) },
          {
            signal: modules.signal,
            program: { execPath, execArgv, main: argv[1] as string, env: environment },
            write: (text) => void process.stderr.write(text),
          },
        );
      },
    },
    environment,
  );

/** Everything in this process. */
function runOne(options: StartOptions, modules: ServerModules): Promise<void> {
  return runShard(options, {
    ...modules,
    embedded: embeddedServers(options, modules.version),
    onReady: () => {
      // A log that is collected would carry the link to whoever reads it.
      if (options.console && process.stderr.isTTY) void printLoginLink(options, modules);
    },
  });
}

type StartOptions = ShardOptions & ConsoleOptions & { readonly console: boolean };

const consoleOptions = {
  console: { type: 'boolean', default: true, description: 'Serve the web console below /console/.' },
  ...consoleOptionTable,
} as const satisfies OptionTable;

const processOptions = {
  shards: {
    type: 'text',
    description:
      'Number of shards, each a process of this machine, with a front-proxy, a cache server and the console; auto: the number of processors. Default: what the root directory holds, which is one process with everything at first.',
  },
} as const satisfies OptionTable;

const shardSections = { ...shardOptionSections, Console: consoleOptions };
const shardTable = { ...shardOptionTable, ...consoleOptions } as const;
const startTable = { ...processOptions, ...shardTable } as const;

function completeStartOptions(values: OptionValues<typeof shardTable>): StartOptions {
  if (values.console) checkConsoleOptions(values);
  return { ...values, ...completeShardOptions(values) };
}

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
