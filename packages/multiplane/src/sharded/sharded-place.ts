import { join } from 'node:path';
import { consoleServerOptionTable } from '@multiplane/console';
import { cacheServerOptionTable } from '@multiplane/cache-server';
import { OptionError, type OptionTable } from '@multiplane/component-base';
import { frontProxyOptionSections, frontProxyOptionTable } from '@multiplane/front-proxy';
import { shardOptionTable, shardUrls } from '@multiplane/shard';
import { topology, type Place, type ProcessKind } from '../topology/topology.ts';

/** Flags of `start` that concern the processes together. */
export interface ShardedPlaceOptions {
  /** Absolute. */
  readonly rootDirectory: string;
  readonly bindAddress: string;
  readonly securePort: number;
  readonly externalHostname?: string | undefined;
  readonly shardExternalUrl?: string | undefined;
  readonly console: boolean;
}

/** The port of the front-proxy that the documentation names; all others keep their distance to it. */
const usualPort = 6443;
/** The console and the cache server are the farthest. */
const maxDistance = 2000;

const interpreted = new Set([
  'shards',
  'root-directory',
  'bind-address',
  'secure-port',
  'external-hostname',
  'shard-external-url',
  'console',
]);
/** They name what this installation does not have, or makes itself. */
const refused = new Set([
  ...Object.keys(shardOptionTable).filter((name) => /^(etcd|nats|leader-election|enable-leader-election)/.test(name)),
  'kubeconfig-path',
  'authentication-admin-token-path',
  'workspace-client-ca-file',
  'shard-kubeconfig-file',
]);

/** The front-proxy passes tokens on to the shards, which know their users: they have the same groups as with one process. */
const ofUsers = new Set(Object.keys(frontProxyOptionSections.Authentication));

const tables: Partial<Record<ProcessKind, OptionTable>> = {
  shard: shardOptionTable,
  'front-proxy': Object.fromEntries(Object.entries(frontProxyOptionTable).filter(([name]) => !ofUsers.has(name))),
  'cache-server': cacheServerOptionTable,
  console: consoleServerOptionTable,
};

/**
 * The place of `start --shards`: everything below the root directory of a single process, which is the one of shard `root`.
 * `given` are the flags that the user set, with their values as text. Each process gets those that it knows; a flag that the topology
 * sets itself is an OptionError.
 */
export function shardedPlace(
  options: ShardedPlaceOptions,
  shards: readonly string[],
  given: Readonly<Record<string, string>>,
): Place {
  const { rootDirectory, bindAddress, securePort } = options;
  if (securePort === 0 || securePort + maxDistance > 65_535)
    throw new OptionError(
      `--secure-port must be between 1 and ${65_535 - maxDistance} with --shards: the other processes listen on the ports above it`,
    );
  const urls = shardUrls(options, securePort);
  const { hostname } = new URL(urls.baseURL);
  const plain: Place = {
    shards,
    hasEmbeddedStores: true,
    hasConsole: options.console,
    pki: join(rootDirectory, 'pki'),
    config: join(rootDirectory, 'config'),
    data: (process) => dataOf(rootDirectory, process),
    host: () => hostname,
    listen: bindAddress,
    port: (_process, usual) => usual - usualPort + securePort,
    externalUrl: new URL(urls.externalURL).origin,
    flags: { shard: ['--console=false'] },
  };
  const set = new Set(topology(plain).flatMap(({ args }) => args.map((arg) => arg.replace(/^--|=.*$/gs, ''))));
  for (const name of Object.keys(given))
    if (!interpreted.has(name) && (set.has(name) || refused.has(name)))
      throw new OptionError(
        `--${name} and --shards exclude each other: the processes are connected by the command itself`,
      );
  const flagsOf = (kind: ProcessKind): string[] =>
    Object.entries(given).flatMap(([name, value]) =>
      !interpreted.has(name) && Object.hasOwn(tables[kind] ?? {}, name) ? [`--${name}=${value}`] : [],
    );
  return {
    ...plain,
    flags: {
      shard: ['--console=false', ...flagsOf('shard')],
      'front-proxy': flagsOf('front-proxy'),
      'cache-server': flagsOf('cache-server'),
      console: flagsOf('console'),
    },
  };
}

/** The store of a single process and its cached objects stay where they are. */
function dataOf(rootDirectory: string, process: string): string {
  if (process === 'shard-root' || process === 'cache-server') return rootDirectory;
  return join(rootDirectory, process.replace(/^shard-/, ''));
}
